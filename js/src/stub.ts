/**
 * What each chat carries: about 1 kB that finds the runtime, which a page holds once.
 *
 * `initialize` waits for nothing: a widget that is not ready after two seconds loses every message
 * for ever, so messages are kept here until the runtime has come.
 */

interface Model {
  get(name: string): string;
  on(name: string, callback: (...parameters: unknown[]) => void): void;
  off(name: string, callback: (...parameters: unknown[]) => void): void;
  widget_manager: { get_model(id: string): Promise<Model> };
}

interface Widget {
  initialize(context: object): void;
  render(context: object): unknown;
}

type Runtimes = Record<string, Promise<() => Widget> | undefined>;
const page = globalThis as { __nbtools?: Runtimes };
page.__nbtools ??= {};
const runtimes = page.__nbtools;

function load(model: Model): Promise<() => Widget> {
  const version = model.get("version");
  const loading = runtimes[version] ?? fetchRuntime(model);
  runtimes[version] = loading;
  loading.catch(() => delete runtimes[version]); // the next view tries again
  return loading;
}

async function fetchRuntime(model: Model): Promise<() => Widget> {
  const id = model.get("assets").replace("IPY_MODEL_", "");
  const code = (await model.widget_manager.get_model(id)).get("code");
  const url = URL.createObjectURL(new Blob([code], { type: "text/javascript" }));
  try {
    return (await import(url)).default;
  } finally {
    URL.revokeObjectURL(url);
  }
}

export default () => {
  let widget: Promise<Widget>;
  let start = async (): Promise<Widget> => Promise.reject(new Error("not initialised"));
  return {
    initialize(context: { model: Model }) {
      const { model } = context;
      const missed: unknown[][] = [];
      const keep = (...message: unknown[]) => missed.push(message);
      model.on("msg:custom", keep);
      start = async () => {
        const made = (await load(model))();
        model.off("msg:custom", keep);
        made.initialize({ ...context, missed });
        return made;
      };
      widget = start();
      widget.catch(() => {}); // told in render
    },
    async render(context: { el: HTMLElement }) {
      try {
        widget = widget.catch(start);
        return (await widget).render(context);
      } catch (error) {
        context.el.textContent = `nbtools could not load its front end (${error}). Run the cell again, or read docs/hosts.md on content-security policies.`;
      }
    },
  };
};
