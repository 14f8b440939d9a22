// A plain page that hosts widgets as VS Code and Colab do: the html-manager of ipywidgets joined to
// a live kernel. No JupyterLab is involved.
import * as base from "@jupyter-widgets/base";
import { shims } from "@jupyter-widgets/base/lib/services-shim";
import { HTMLManager } from "@jupyter-widgets/html-manager";
import { KernelManager, ServerConnection } from "@jupyterlab/services";
import "@jupyter-widgets/controls/css/widgets.css";
import "@lumino/widgets/style/index.css";

const VIEW = "application/vnd.jupyter.widget-view+json";

class LiveManager extends HTMLManager {
  constructor(kernel) {
    super({ loader: loadModule });
    this.kernel = kernel;
    kernel.registerCommTarget(this.comm_target_name, (comm, message) =>
      this.handle_comm_open(new shims.services.Comm(comm), message),
    );
  }

  async _create_comm(target, id, data, metadata, buffers) {
    const comm = this.kernel.createComm(target, id);
    if (data || metadata) comm.open(data, metadata, buffers);
    return new shims.services.Comm(comm);
  }

  async _get_comm_info() {
    const reply = await this.kernel.requestCommInfo({ target_name: this.comm_target_name });
    return reply.content.status === "ok" ? reply.content.comms : {};
  }

  async show(modelId, host) {
    const view = await this.create_view(await this.get_model(modelId));
    await this.display_view(view, host);
  }
}

// anywidget ships its front end as an AMD file in its Python package; the server passes it on.
const modules = {};

function loadModule(name) {
  if (name !== "anywidget") throw new Error(`This page knows no widget module ${name}.`);
  modules[name] ??= fetchModule(name);
  return modules[name];
}

async function fetchModule(name) {
  const source = await (await fetch(`${name}.js`)).text();
  let exported;
  new Function("define", source)((_, factory) => {
    exported = factory(base);
  });
  return exported;
}

function within(promise, seconds, what) {
  const late = new Promise((_, reject) => {
    setTimeout(() => reject(new Error(`${what}: not within ${seconds} s`)), seconds * 1000);
  });
  return Promise.race([promise, late]);
}

let kernel;
let manager;
const cells = [];

async function connect({ address, name, id }) {
  const serverSettings = ServerConnection.makeSettings({
    baseUrl: address,
    wsUrl: address.replace(/^http/, "ws"),
  });
  const kernels = new KernelManager({ serverSettings });
  kernel = id ? kernels.connectTo({ model: { id, name } }) : await kernels.startNew({ name });
  manager = new LiveManager(kernel);
  if (id) {
    await within(kernel.info, 60, "kernel info");
    await within(manager._loadFromKernel(), 30, "widgets of the kernel");
  }
  return kernel.id;
}

// Has the kernel tell about itself, and execute nothing: both its reply and its idle must arrive.
async function prove(seconds) {
  await within(kernel.info, 40, "kernel info");
  const request = kernel.requestExecute({ code: "", silent: true, store_history: false });
  await within(request.done, seconds, "a silent execute_request");
}

// Runs code as a cell would and returns the number of the cell; its widgets are shown below.
function run(code) {
  const cell = { host: addHost(), text: "", errors: [], views: [], shown: [] };
  const future = kernel.requestExecute({ code, stop_on_error: false });
  future.onIOPub = (message) => receive(cell, message);
  cell.done = future.done;
  return cells.push(cell) - 1;
}

function addHost() {
  const host = document.createElement("section");
  host.dataset.cell = String(cells.length);
  document.body.append(host);
  return host;
}

function receive(cell, { header, content }) {
  if (header.msg_type === "stream") cell.text += content.text;
  if (header.msg_type === "error") cell.errors.push(`${content.ename}: ${content.evalue}`);
  if (!content.data) return;
  const view = content.data[VIEW];
  if (view) {
    cell.views.push(view.model_id);
    cell.shown.push(manager.show(view.model_id, cell.host));
  } else if (content.data["text/html"]) {
    cell.host.insertAdjacentHTML("beforeend", content.data["text/html"]);
  } else {
    cell.text += content.data["text/plain"] ?? "";
  }
}

async function wait(index, seconds) {
  const { done, shown } = cells[index];
  await within(done, seconds, `cell ${index}`);
  await within(Promise.all(shown), seconds, `widgets of cell ${index}`);
}

function result(index) {
  const { text, errors, views } = cells[index];
  return { text, errors, views };
}

async function show(modelId) {
  const host = addHost();
  cells.push({ host });
  await within(manager.show(modelId, host), 20, "view");
  return cells.length - 1;
}

const interrupt = () => within(kernel.interrupt(), 10, "interrupt");
const restart = () => within(kernel.restart(), 60, "restart");
const status = () => kernel.status;
const shutdown = () => within(kernel.shutdown(), 20, "shutdown");

window.harness = {
  connect, interrupt, prove, restart, result, run, show, shutdown, status, wait,
};
