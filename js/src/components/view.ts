/** What every component of one view shares, and the hooks that tie components to the store. */

import { Component, type ComponentType, createContext, h } from "preact";
import { useContext, useLayoutEffect, useReducer, useState } from "preact/hooks";
import type { WidgetManager } from "../renderers/host";
import type { JavaScriptRenderers } from "../renderers/javascript";
import type { ChatStore, Topic } from "../store";
import type { Focus } from "./focus";

/** One place on a page where a chat is shown. */
export interface View {
  readonly store: ChatStore;
  readonly renderers: JavaScriptRenderers;
  readonly manager: WidgetManager | undefined;
  /** The element that holds the shadow root; what the notebook draws becomes its child. */
  readonly host: HTMLElement;
  readonly focus: Focus;
  /** Whether this is a page without any kernel, ever. */
  readonly exported: boolean;
}

export const ViewContext = createContext<View | undefined>(undefined);

/** Returns the view that a component belongs to. */
export function useView(): View {
  const view = useContext(ViewContext);
  if (!view) throw new Error("This component is not inside a view.");
  return view;
}

/** Draws the component again when the topic is told. */
export function useTopic(topic: Topic): void {
  const [, redraw] = useReducer((count: number) => count + 1, 0);
  useLayoutEffect(() => topic.subscribe(() => redraw(undefined)), [topic]);
}

/** Says whether commands can be given, and keeps saying it. */
export function useHere(): boolean {
  const { store } = useView();
  useTopic(store.presence.topic);
  return store.presence.here;
}

/** A state that outlives this view: another view of the chat, or this one made anew, has it too. */
export function useKept<T>(key: string, initial: T): [T, (value: T) => void] {
  const { store } = useView();
  const [value, setValue] = useState(store.kept.has(key) ? (store.kept.get(key) as T) : initial);
  return [
    value,
    (next) => {
      store.kept.set(key, next);
      setValue(next);
    },
  ];
}

/** Returns a component that is drawn again only when one of its properties is another. */
export function memo<Props extends object>(Inner: ComponentType<Props>): ComponentType<Props> {
  return class extends Component<Props> {
    override shouldComponentUpdate(next: Readonly<Props>): boolean {
      const now = this.props as Record<string, unknown>;
      return Object.entries(next).some(([name, value]) => now[name] !== value);
    }

    override render(props: Props) {
      return h(Inner, props);
    }
  };
}

/** Lets a handler run for what a person did, and not for what a script pretends. */
export function trusted<E extends Event>(handle: (event: E) => void): (event: E) => void {
  return (event) => {
    if (event.isTrusted) handle(event);
  };
}
