// Finds text and icons below a host element that stand out too little from what is behind them.
// Returns [ratio, colour, background, text] of each; the parts of disabled controls do not count.
(host, least) => {
  const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const known = new Map();

  function rgba(colour) {
    if (!known.has(colour)) {
      canvas.clearRect(0, 0, 1, 1);
      canvas.fillStyle = colour;
      canvas.fillRect(0, 0, 1, 1);
      const [red, green, blue, alpha] = canvas.getImageData(0, 0, 1, 1).data;
      known.set(colour, [red, green, blue, alpha / 255]);
    }
    return known.get(colour);
  }

  const parentOf = (node) => node.assignedSlot ?? node.parentElement ?? node.getRootNode().host;

  function over([red, green, blue, alpha], below) {
    const mixed = [red, green, blue].map((value, i) => value * alpha + below[i] * (1 - alpha));
    return [...mixed, 1];
  }

  function behind(element) {
    if (!element) return [255, 255, 255, 1];
    const own = rgba(getComputedStyle(element).backgroundColor);
    return own[3] === 1 ? own : over(own, behind(parentOf(element)));
  }

  function luminance(colour) {
    const [red, green, blue] = colour.slice(0, 3).map((value) => {
      const part = value / 255;
      return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  }

  function ratio(front, back) {
    const [light, dark] = [luminance(front), luminance(back)].sort((a, b) => b - a);
    return (light + 0.05) / (dark + 0.05);
  }

  const found = [];

  function look(element, colour, text) {
    if (!element.checkVisibility({ opacityProperty: true, visibilityProperty: true })) return;
    if (element.closest("[aria-disabled=true], :disabled")) return;
    const back = behind(element);
    const value = ratio(over(rgba(colour), back), back);
    if (value < least) found.push([value.toFixed(2), colour, back.map(Math.round).join(), text]);
  }

  function walk(node) {
    if (node.nodeType === Node.TEXT_NODE && node.data.trim()) {
      const { color } = getComputedStyle(node.parentElement);
      look(node.parentElement, color, node.data.trim().slice(0, 40));
    }
    if (node instanceof SVGElement) return look(node, getComputedStyle(node).color, "an icon");
    if (node.tagName === "STYLE" || node.tagName === "SCRIPT") return undefined;
    if (node.placeholder && !node.value) {
      look(node, getComputedStyle(node, "::placeholder").color, node.placeholder);
    }
    for (const child of node.shadowRoot?.childNodes ?? []) walk(child);
    for (const child of node.childNodes) walk(child);
    return undefined;
  }

  walk(host);
  return found;
}
