/**
 * What each chat carries: about 1 kB that finds the runtime, which a page holds once.
 *
 * `initialize` waits for nothing: a widget that is not ready after two seconds loses every message
 * for ever, so messages are kept here until the runtime has come.
 */

interface Model {
  get(name: string): string;
  on(name: string, callback: (...message: unknown[]) => void): void;
  off(name: string, callback: (...message: unknown[]) => void): void;
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
  loading.catch(() => delete runtimes[version]); // so that the next view tries again
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

/** Starts the chat of a model once the runtime is there, with the messages that came before. */
function starter(context: { model: Model }): () => Promise<Widget> {
  const { model } = context;
  const missed: unknown[][] = [];
  const keep = (...message: unknown[]) => missed.push(message);
  model.on("msg:custom", keep);
  return async () => {
    const widget = (await load(model))();
    model.off("msg:custom", keep);
    widget.initialize({ ...context, missed });
    return widget;
  };
}

export default () => {
  let start: () => Promise<Widget>;
  let widget: Promise<Widget>;
  return {
    initialize(context: { model: Model }) {
      start = starter(context);
      widget = start();
      widget.catch(() => {}); // told by render
    },
    async render(context: { el: HTMLElement }) {
      try {
        widget = widget.catch(start);
        return (await widget).render(context);
      } catch (error) {
        context.el.textContent = `nbtools could not load its front end (${error}). Run the cell again; a content-security policy has to allow "script-src blob:".`;
      }
    },
  };
};
