/** All style sheets of a chat as one text; later ones win. */

import adapt from "./adapt.css";
import approvals from "./approvals.css";
import argumentTable from "./arguments.css";
import body from "./body.css";
import card from "./card.css";
import composer from "./composer.css";
import controls from "./controls.css";
import form from "./form.css";
import head from "./head.css";
import log from "./log.css";
import notices from "./notices.css";
import prose from "./prose.css";
import table from "./table.css";
import theme from "./theme.css";

export const STYLES = [
  theme,
  head,
  log,
  notices,
  controls,
  form,
  card,
  argumentTable,
  approvals,
  body,
  composer,
  prose,
  table,
  adapt,
].join("\n");
