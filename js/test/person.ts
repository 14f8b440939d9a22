/** Events as a person causes them: a page tells them from those that a script makes. */

/** Makes an element on the page. */
export function createElement(): HTMLElement {
  const made = document.createElement("div");
  document.body.append(made);
  return made;
}

/** Lets an event count as one of a person. */
export function byPerson<E extends Event>(event: E): E {
  Object.defineProperty(event, "isTrusted", { value: true });
  return event;
}

/** Presses a button. */
export function press(button: Element | null | undefined): void {
  if (!button) throw new Error("There is no such button.");
  button.dispatchEvent(byPerson(new MouseEvent("click", { bubbles: true, composed: true })));
}

/** Replaces the text of a field. */
export function typeInto(field: Element | null, text: string): void {
  (field as HTMLTextAreaElement).value = text;
  field?.dispatchEvent(byPerson(new Event("input", { bubbles: true, composed: true })));
}

/** Presses a key in a field; `keyCode` is what tells Safari's compositions apart. */
export function pressKey(
  field: Element | null,
  key: string,
  options: KeyboardEventInit & { keyCode?: number } = {},
): KeyboardEvent {
  const { keyCode, ...rest } = options;
  const init = { key, bubbles: true, composed: true, cancelable: true, ...rest };
  const event = byPerson(new KeyboardEvent("keydown", init));
  if (keyCode) Object.defineProperty(event, "keyCode", { value: keyCode });
  field?.dispatchEvent(event);
  return event;
}
