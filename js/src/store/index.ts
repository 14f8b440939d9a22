/** What the layers above may know of the store. */

export { type AssetContent, fromBase64 } from "./assets";
export { ChatStore, COMPOSER, CONVERSATION } from "./chat";
export type { Rejection } from "./commands";
export type { Copy } from "./copy";
export { type Draft, LONGEST, TOO_LONG } from "./draft";
export type { Filled, FilledCall, FilledJob, FilledPart } from "./filled";
export { type Entered, type Entries, type FormField, readEntries, readForm } from "./form";
export { type CallNode, isCall, isFinal, isRecord, type MessageNode, type PartNode } from "./nodes";
export type { PresenceState } from "./presence";
export { Topic } from "./topic";
export { jobWords, stateWords } from "./words";
