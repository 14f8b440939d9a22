import { describe, expect, it, vi } from "vitest";
import { CallModel, type Values } from "../src/renderers/callmodel";

function makeModel(values: Values = { args: { n: 1 }, state: "running" }) {
  const acts: Values[] = [];
  const model = new CallModel(values, (changes) => acts.push(changes), "manager");
  return { model, acts, ...model.proxy() };
}

describe("a call as the model of an anywidget module", () => {
  it("reads fields, and gives the widget manager", () => {
    const { proxy } = makeModel();
    expect(proxy.get("state")).toBe("running");
    expect(proxy.get("args")).toEqual({ n: 1 });
    expect(proxy.widget_manager).toBe("manager");
  });

  it("sends only what was changed, when changes are saved", () => {
    const { proxy, acts } = makeModel();
    proxy.set("a", 1);
    proxy.set({ b: [2], state: "running" });
    expect(acts).toEqual([]);
    proxy.save_changes();
    expect(acts).toEqual([{ a: 1, b: [2] }]);
    proxy.save_changes();
    expect(acts).toHaveLength(1);
  });

  it("compares deeply, so that an equal value is no change", () => {
    const { proxy, acts } = makeModel();
    const changed = vi.fn();
    proxy.on("change:args", changed);
    proxy.set("args", { n: 1 });
    proxy.save_changes();
    expect(changed).not.toHaveBeenCalled();
    expect(acts).toEqual([]);
  });

  it("tells each changed field with model, value and options, then one change", () => {
    const { model, proxy } = makeModel();
    const heard: unknown[] = [];
    proxy.on("change:args change:state", (sender, value, options) =>
      heard.push([sender === proxy, value, options]),
    );
    proxy.on("change", (sender) => heard.push(sender === proxy));
    model.update({ args: { n: 2 }, state: "result" });
    expect(heard).toEqual([[true, { n: 2 }, {}], [true, "result", {}], true]);
  });

  it("takes the call's own change over the draft of the same field", () => {
    const { model, proxy, acts } = makeModel();
    proxy.set("args", { n: 5 });
    model.update({ args: { n: 2 }, state: "running" });
    proxy.save_changes();
    expect(proxy.get("args")).toEqual({ n: 2 });
    expect(acts).toEqual([]);
  });

  it("keeps a draft that the call's change does not touch", () => {
    const { model, proxy } = makeModel();
    proxy.set("note", "mine");
    model.update({ args: { n: 1 }, state: "result" });
    expect(proxy.get("note")).toBe("mine");
  });

  it("does not see what a module changes in place, and is not changed by it", () => {
    const source = { args: { list: [1] } };
    const { model, proxy } = makeModel(source);
    (proxy.get("args") as { list: number[] }).list.push(2);
    expect(source).toEqual({ args: { list: [1] } });
    const changed = vi.fn();
    proxy.on("change:args", changed);
    model.update({ args: { list: [1] } });
    expect(changed).not.toHaveBeenCalled();
  });

  it("drops one listener, one event, or all listeners of one view alone", () => {
    const { model, proxy } = makeModel({ a: 0, b: 0 });
    const other = model.proxy();
    const [first, second, theirs] = [vi.fn(), vi.fn(), vi.fn()];
    proxy.on("change:a", first);
    proxy.on("change:a change:b", second);
    other.proxy.on("change:a", theirs);
    proxy.off("change:a", first);
    model.update({ a: 1, b: 0 });
    expect([first, second, theirs].map(({ mock }) => mock.calls.length)).toEqual([0, 1, 1]);
    proxy.off("change:a");
    model.update({ a: 2, b: 1 });
    expect([second, theirs].map(({ mock }) => mock.calls.length)).toEqual([2, 2]);
    proxy.off(null, null);
    model.update({ a: 3, b: 2 });
    expect([second, theirs].map(({ mock }) => mock.calls.length)).toEqual([2, 3]);
  });

  it("sends a message as it is, and wraps what is no object", () => {
    const { proxy, acts } = makeModel();
    proxy.send({ clicked: 3 });
    proxy.send("hello");
    expect(acts).toEqual([{ clicked: 3 }, { content: "hello" }]);
  });
});
