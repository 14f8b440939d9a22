import fc from "fast-check";
import { beforeEach, describe, expect, it } from "vitest";
import { readMarkdown } from "../src/renderers/markdown/bounded";
import { MarkdownStream, showMarkdown } from "../src/renderers/markdown/stream";

function shown(text: string): HTMLElement {
  const root = document.createElement("div");
  showMarkdown(root, text);
  return root;
}

const PIECES = [
  "# Title\n",
  "words and *more* words\n",
  "\n",
  "\n\n",
  "- item\n",
  "  - nested\n",
  "1. first\n",
  "- [x] done\n",
  "```python\nprint(1)\n",
  "```\n",
  "| a | b |\n|---|---|\n| 1 | 2 |\n",
  "> quoted\n",
  "    indented\n",
  "[ref]: https://example.org/ref\n",
  "a [ref] and [text][ref]\n",
  "---\n",
  "===\n",
  "<div>\n",
  "**bo",
  "ld**",
  "`co",
  "de`",
  "[a](https://example.org)",
  "\r\n",
  "  \n",
  "* * *\n",
  "text",
  "&amp; ",
  "> - ".repeat(25),
  "\\*",
];

describe("a model that repeats itself", () => {
  it.each(["> ", "- ", "1. ", "> - ", "- > ", "1. - ", ">", "# ", "**", "[", "| ", "- [ ] "])(
    "is shown, and what follows too: %j",
    (unit) => {
      const root = shown(`Before.\n\n${unit.repeat(20_000 / unit.length)}x\n\nAfter.`);
      expect(root.textContent).toContain("Before.");
      expect(root.textContent).toContain("x");
      expect(root.textContent).toContain("After.");
    },
  );

  it("loses no structure that a person would write", () => {
    expect(shown(`${"> ".repeat(20)}deep`).querySelectorAll("blockquote")).toHaveLength(20);
    expect(shown(`words\n\n${"-".repeat(80)}`).querySelectorAll("hr")).toHaveLength(1);
  });
});

describe("markdown that is still being written", () => {
  it("ends as the same page, however it was cut", () => {
    const texts = fc
      .array(fc.constantFrom(...PIECES), { maxLength: 24 })
      .map((parts) => parts.join(""));
    fc.assert(
      fc.property(
        texts,
        fc.array(fc.nat(), { maxLength: 12 }),
        fc.boolean(),
        (text, cuts, writing) => {
          const root = document.createElement("div");
          const stream = new MarkdownStream(root);
          const places = cuts.map((cut) => cut % (text.length + 1)).sort((a, b) => a - b);
          for (const place of places) stream.update(text.slice(0, place), writing);
          stream.update(text);
          expect(root.innerHTML).toBe(shown(text).innerHTML);
        },
      ),
      { numRuns: 300 },
    );
  });

  it("never touches a finished block again", () => {
    const root = document.createElement("div");
    const stream = new MarkdownStream(root);
    stream.update("first\n\nsecond\n\nthird\nand");
    const [first, second] = root.querySelectorAll("p");
    stream.update("first\n\nsecond\n\nthird\nand more\n\n- a\n- b\n");
    expect(root.querySelectorAll("p")[0]).toBe(first);
    expect(root.querySelectorAll("p")[1]).toBe(second);
    expect(root.querySelector("li")?.textContent).toBe("a");
  });

  it("shows bold type and code as such before their closing marks have come", () => {
    const root = document.createElement("div");
    const stream = new MarkdownStream(root);
    stream.update("some **bold", true);
    expect(root.querySelector("strong")?.textContent).toBe("bold");
    stream.update("some **bold** and `co", true);
    expect(root.querySelector("code")?.textContent).toBe("co");
    stream.update("some **", true);
    expect(root.textContent).toBe("some ");
  });

  it("draws lists, tables, tasks, code and headings", () => {
    const root = shown(
      "# T\n\n1. a\n2. b\n\n- [x] c\n\n|x|y|\n|:-|-:|\n|1|2|\n\n```js\nf()\n```\n",
    );
    expect(root.querySelector('[role="heading"]')?.getAttribute("aria-level")).toBe("3");
    expect([...root.querySelectorAll("ol > li")].map((item) => item.textContent)).toEqual([
      "a",
      "b",
    ]);
    expect(root.querySelector(".task")?.getAttribute("aria-label")).toBe("done");
    expect(root.querySelector("td.align-right")?.textContent).toBe("2");
    expect(root.querySelector(".codebar span")?.textContent).toBe("js");
    expect(root.querySelector("pre code")?.textContent).toBe("f()");
  });

  it("shows an answer that is only a number as it was written", () => {
    expect(shown("4.").querySelector("p")?.outerHTML).toBe("<p>4.</p>");
    expect(shown("1. one\n2.\n").querySelectorAll("li")).toHaveLength(2);
  });

  it("gives the blocks of a long answer groups of sixteen", () => {
    const root = shown(Array.from({ length: 40 }, (_, index) => `p${index}`).join("\n\n"));
    expect([...root.children].map((group) => group.childElementCount)).toEqual([16, 16, 8]);
  });

  it("leaves formulas as they were typed", () => {
    expect(shown("the $x_1$ and $$y^2$$").textContent).toBe("the $x_1$ and $$y^2$$");
  });
});

describe("written text that is hard to read", () => {
  // Of a length at which reading them took minutes; how the time grows is measured elsewhere.
  const filled = (unit: string) => unit.repeat(120_000 / unit.length);

  const many = (begin: string, unit: string, end = "") => [unit, begin + filled(unit) + end];
  const marks = ["_a", "*a", "_*a", "**a* ", "a***b", "a|b\n|-\n", "a|b\n-:\nc\n", "a\n-\n"];

  it.each([
    ...marks.map((unit) => many("", unit)),
    many("http://a", ")", "@"),
    many("http://a", "(", "@"),
    many("", "a.b", "@"),
  ] as [string, string][])("is read to its end: %j", (_, text) => {
    const { tokens } = readMarkdown(text, {});
    expect(tokens.map((token) => token.raw).join("")).toBe(text);
  });

  it.each([
    ["lines without words", filled("\n"), ""],
    ["stars before open bold type", `**b ${filled("*")} a`, `b ${filled("*")} a`],
  ])("is shown as far as it is written: %s", (_, text, visible) => {
    const root = document.createElement("div");
    new MarkdownStream(root).update(text, true);
    expect(root.textContent).toBe(visible);
  });

  it.each([
    ["*a ", "b* ", "em"],
    ["~~a ", "b~~ ", "del"],
  ])("nests %j no deeper than the stack allows, and loses no word", (begin, end, tag) => {
    const text = begin.repeat(4_000) + end.repeat(4_000);
    const root = shown(text);
    expect(root.querySelectorAll(tag)).toHaveLength(40);
    expect(root.textContent?.replace(/[*~ ]/g, "")).toBe(text.replace(/[*~ ]/g, ""));
  });

  it("has no links to addresses of absurd length, and those of a usual one", () => {
    const linked = (text: string) => shown(text).querySelectorAll("a").length;
    expect(linked(`http://a.org/${"b".repeat(4_000)}`)).toBe(1);
    expect(linked(`http://a.org/${"b".repeat(5_000)}`)).toBe(0);
    expect(linked(`${"n".repeat(64)}@a.org`)).toBe(1);
  });

  it("finds bold type after many marks without an end, and a heading of several lines", () => {
    const root = shown(`${"see *.py and a_b_c ".repeat(200)}**bold**\n\nTwo\nlines\n===\n`);
    expect(root.querySelector("strong")?.textContent).toBe("bold");
    expect(root.querySelector("[role=heading]")?.textContent).toBe("Two\nlines");
  });
});

describe("written text that would do harm as markup", () => {
  beforeEach(() => {
    (globalThis as { __hit?: number }).__hit = 0;
  });

  const CORPUS = [
    '<img src=x onerror="window.__hit=1">',
    "[ok](javascript:window.__hit=1)",
    "[ok](JaVaScRiPt:window.__hit=1)",
    "[ok](java&#10;script:window.__hit=1)",
    "[ok](data:text/html,<script>window.__hit=1</script>)",
    "[ok](vbscript:x)",
    "<svg><script>window.__hit=1</script></svg>",
    "<style>body{display:none}</style>",
    "<iframe srcdoc='<script>parent.__hit=1</script>'></iframe>",
    "![p](javascript:window.__hit=1)",
    "![p](data:image/svg+xml;base64,PHN2Zz4=)",
    "<a href='javascript:window.__hit=1'>x</a>",
    "`<script>`",
  ];

  it.each(CORPUS)("stays text: %s", (text) => {
    for (const root of [shown(text), shown(`- item ${text}\n\n| ${text} |\n|---|\n| ${text} |`)]) {
      const harmful = "script,style,iframe,svg,object,embed,form,[onerror],[onclick],img";
      expect(root.querySelector(harmful)).toBeNull();
      for (const link of root.querySelectorAll("a")) {
        expect(link.getAttribute("href")).toMatch(/^(https?|mailto):/);
      }
    }
    expect((globalThis as { __hit?: number }).__hit).toBe(0);
  });

  it("opens web links in a new tab that cannot reach back", () => {
    const link = shown("[docs](https://example.org/a)").querySelector("a");
    expect(link?.target).toBe("_blank");
    expect(link?.rel).toBe("noopener noreferrer");
    expect(link?.getAttribute("href")).toBe("https://example.org/a");
  });

  it("fetches a remote picture only after a click", () => {
    const root = shown("![p](https://example.org/beacon?q=secret)");
    expect(root.querySelector("img")).toBeNull();
    expect(root.querySelector("button")?.textContent).toBe("Load image from example.org: p");
  });

  it("takes relative addresses for text", () => {
    expect(shown("[x](../tree)").querySelector("a")).toBeNull();
  });
});
