// Runs inside JupyterLab and Notebook 7 and acts through the application's own commands, so that
// a test does what a person would. Every promise has its own time-out: playwright gives it none.
window.harness = (() => {
  const panels = new Map();

  function within(promise, seconds, what) {
    const late = new Promise((_, reject) => {
      setTimeout(() => reject(new Error(`${what}: not within ${seconds} s`)), seconds * 1000);
    });
    return Promise.race([promise, late]);
  }

  async function until(probe, seconds, what) {
    const end = performance.now() + seconds * 1000;
    for (;;) {
      const value = probe();
      if (value) return value;
      if (performance.now() > end) throw new Error(`${what}: not within ${seconds} s`);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }

  async function application() {
    const app = await until(() => window.jupyterapp?.shell && window.jupyterapp, 60, "application");
    await within(app.restored, 60, "application restored");
    return app;
  }

  function findPanel(app, path) {
    return [...app.shell.widgets("main")].find((widget) => widget.context?.path === path);
  }

  // Waits for a notebook that is opening; `kernel` says whether one is expected, `known` whether it
  // has answered before.
  async function ready(path, kernel, known) {
    const app = await application();
    const panel = await until(() => findPanel(app, path), 60, `panel of ${path}`);
    await within(Promise.all([panel.context.ready, panel.revealed]), 60, `content of ${path}`);
    if (kernel) {
      await within(panel.sessionContext.ready, 60, "session");
      const connection = await until(() => panel.sessionContext.session?.kernel, 60, "kernel");
      if (known) await within(connection.info, 60, "kernel info");
    }
    panels.set(path, panel);
    return panel.id;
  }

  // Opens a notebook in the application that is already loaded.
  async function open(path, kernel, known) {
    const app = await application();
    const kernelPreference = kernel ? {} : { shouldStart: false, autoStartDefault: false };
    await app.commands.execute("docmanager:open", { path, factory: "Notebook", kernelPreference });
    return ready(path, kernel, known);
  }

  // Has the kernel tell about itself, and execute nothing: both its reply and its idle must arrive.
  // Kernels were seen that did not do the one, and that did the one and never ended their first cell.
  async function prove(path, seconds) {
    const { kernel } = panels.get(path).sessionContext.session;
    await within(kernel.info, 40, "kernel info");
    const request = kernel.requestExecute({ code: "", silent: true, store_history: false });
    await within(request.done, seconds, "a silent execute_request");
  }

  // Adds a code cell at the end and returns its index; a new notebook's one empty cell is used.
  function addCell(path, source) {
    const { model, widgets } = panels.get(path).content;
    const last = widgets.length - 1;
    if (last >= 0 && widgets[last].model.sharedModel.getSource() === "") {
      widgets[last].model.sharedModel.setSource(source);
      return last;
    }
    model.sharedModel.addCell({ cell_type: "code", source });
    return widgets.length - 1;
  }

  const runs = new Map();

  // Starts one cell by the notebook's own command; `wait` awaits its end.
  function run(path, index) {
    const panel = panels.get(path);
    window.jupyterapp.shell.activateById(panel.id);
    panel.content.deselectAll();
    panel.content.activeCellIndex = index;
    runs.set(`${path} ${index}`, window.jupyterapp.commands.execute("notebook:run-cell"));
  }

  async function wait(path, index, seconds) {
    await within(runs.get(`${path} ${index}`), seconds, `cell ${index}`);
  }

  function outputs(path, index) {
    return panels.get(path).content.widgets[index].model.outputs.toJSON();
  }

  // Marks the element of a cell so that a selector finds it, whatever else is on the page.
  function markCell(path, index) {
    const { node } = panels.get(path).content.widgets[index];
    node.dataset.harnessCell = `${path}:${index}`;
    node.scrollIntoView({ block: "nearest" });
  }

  async function command(path, name, args) {
    window.jupyterapp.shell.activateById(panels.get(path).id);
    await within(window.jupyterapp.commands.execute(name, args ?? {}), 60, name);
  }

  function save(path) {
    return within(panels.get(path).context.save(), 30, "save");
  }

  async function restart(path) {
    await within(panels.get(path).sessionContext.restartKernel(), 60, "restart");
  }

  async function interrupt(path) {
    await within(panels.get(path).sessionContext.session.kernel.interrupt(), 10, "interrupt");
  }

  function status(path) {
    return panels.get(path).sessionContext.session?.kernel?.status ?? "none";
  }

  async function close(path) {
    const panel = panels.get(path);
    await within(panel.sessionContext.shutdown(), 20, "shutdown").catch(() => {});
    await panel.context.save().catch(() => {});
    panel.dispose();
    panels.delete(path);
  }

  async function setTheme(name) {
    await window.jupyterapp.commands.execute("apputils:change-theme", { theme: name });
    const light = String(!name.includes("Dark"));
    await until(() => document.body.dataset.jpThemeLight === light, 20, `theme ${name}`);
    await until(() => !document.getElementById("jupyterlab-splash"), 20, "end of the splash");
  }

  return {
    addCell, close, command, interrupt, markCell, open, outputs, prove, ready, restart, run, save,
    setTheme, status, wait,
  };
})();
