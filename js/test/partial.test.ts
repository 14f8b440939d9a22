import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { PartialJson } from "../src/store/partial";

function read(...chunks: string[]): PartialJson {
  const parser = new PartialJson();
  for (const chunk of chunks) parser.feed(chunk);
  return parser;
}

describe("JSON that is still arriving", () => {
  it("gives what JSON.parse gives, however it was cut", () => {
    fc.assert(
      fc.property(
        fc.jsonValue({ maxDepth: 4 }),
        fc.array(fc.nat(), { maxLength: 8 }),
        (value, cuts) => {
          const text = `${JSON.stringify(value, null, 1)} `;
          const places = [
            0,
            ...cuts.map((cut) => cut % text.length).sort((a, b) => a - b),
            text.length,
          ];
          const parser = new PartialJson();
          places.slice(1).forEach((place, index) => {
            parser.feed(text.slice(places[index], place));
          });
          expect(parser.broken).toBe(false);
          expect(parser.done).toBe(true);
          expect(JSON.stringify(parser.value)).toBe(JSON.stringify(JSON.parse(text)));
        },
      ),
    );
  });

  it("shows an unfinished string and leaves out an unfinished key, number and word", () => {
    expect(read('{"name": "Ad').value).toEqual({ name: "Ad" });
    expect(read('{"name": "Ada", "ag').value).toEqual({ name: "Ada" });
    expect(read('{"age": 3').value).toEqual({});
    expect(read('{"age": 3', "6,").value).toEqual({ age: 36 });
    expect(read('{"list": [true, fal').value).toEqual({ list: [true] });
  });

  it("reads escapes that are cut in the middle", () => {
    expect(read('{"a": "x\\', "n\\u00", 'e9"}').value).toEqual({ a: "x\né" });
  });

  it("stops at what is not JSON and keeps what it had", () => {
    const parser = read('{"a": 1, ', "oops", ' "b": 2}');
    expect(parser.broken).toBe(true);
    expect(parser.value).toEqual({ a: 1 });
  });

  it("takes __proto__ for a name like any other", () => {
    const { value } = read('{"__proto__": {"hit": 1}}');
    expect(Object.keys(value as object)).toEqual(["__proto__"]);
    expect(({} as Record<string, unknown>).hit).toBeUndefined();
  });
});
