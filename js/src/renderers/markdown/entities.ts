/** Named and numbered characters of written text, such as &amp; and &#39;. */

const NAMES: Record<string, string> = Object.fromEntries(
  (
    "amp:& lt:< gt:> quot:\" apos:' nbsp:\u00A0 copy:© reg:® trade:™ hellip:… mdash:— ndash:– lsquo:‘ " +
    "rsquo:’ sbquo:‚ ldquo:“ rdquo:” bdquo:„ laquo:« raquo:» bull:• middot:· times:× divide:÷ plusmn:± " +
    "minus:− deg:° micro:µ para:¶ sect:§ dagger:† euro:€ pound:£ yen:¥ cent:¢ larr:← uarr:↑ rarr:→ " +
    "darr:↓ harr:↔ lArr:⇐ rArr:⇒ hArr:⇔ le:≤ ge:≥ ne:≠ equiv:≡ asymp:≈ sim:∼ prop:∝ infin:∞ sum:∑ " +
    "prod:∏ int:∫ radic:√ part:∂ nabla:∇ isin:∈ notin:∉ ni:∋ sub:⊂ sup:⊃ sube:⊆ supe:⊇ cap:∩ cup:∪ " +
    "empty:∅ forall:∀ exist:∃ and:∧ or:∨ not:¬ frac12:½ frac14:¼ frac34:¾ sup2:² sup3:³ alpha:α beta:β " +
    "gamma:γ delta:δ epsilon:ε zeta:ζ eta:η theta:θ iota:ι kappa:κ lambda:λ mu:μ nu:ν xi:ξ pi:π rho:ρ " +
    "sigma:σ tau:τ upsilon:υ phi:φ chi:χ psi:ψ omega:ω Gamma:Γ Delta:Δ Theta:Θ Lambda:Λ Xi:Ξ Pi:Π " +
    "Sigma:Σ Phi:Φ Psi:Ψ Omega:Ω"
  )
    .split(" ")
    .map((pair) => [pair.slice(0, pair.indexOf(":")), pair.slice(pair.indexOf(":") + 1)]),
);

/** Returns the text with the characters that its entities stand for; unknown ones stay. */
export function decodeEntities(text: string): string {
  return text.replace(
    /&(?:#x([0-9a-f]{1,6})|#([0-9]{1,7})|([a-z0-9]+));/gi,
    (whole, hex, decimal, name) =>
      name
        ? Object.hasOwn(NAMES, name)
          ? (NAMES[name] as string)
          : whole
        : numbered(hex, decimal),
  );
}

function numbered(hex: string | undefined, decimal: string | undefined): string {
  const point = hex ? Number.parseInt(hex, 16) : Number(decimal);
  const valid = point > 0 && point <= 0x10ffff && !(point >= 0xd800 && point <= 0xdfff);
  return valid ? String.fromCodePoint(point) : "\uFFFD";
}
