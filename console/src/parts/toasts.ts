/** Short messages above the screen, some with a way back. They outlive the screen that showed them. */
import { useSyncExternalStore } from "react";

export const TOAST_MS = 5000;

export interface Toast {
  id: number;
  text: string;
  isProblem: boolean;
  /** Takes back what the text says. */
  undo?: () => void;
}

interface Options {
  isProblem?: boolean;
  undo?: () => void;
  /** Called when the toast goes away and was not undone; also when the page is closed. */
  onEnd?: () => void;
}

let toasts: readonly Toast[] = [];
let lastId = 0;
const ends = new Map<number, () => void>();
const listeners = new Set<() => void>();

export const useToasts = () => useSyncExternalStore(subscribe, () => toasts);

export function showToast(text: string, { isProblem = false, undo, onEnd }: Options = {}): void {
  const id = ++lastId;
  const timer = setTimeout(() => end(id), TOAST_MS);
  ends.set(id, () => onEnd?.());
  const takeBack =
    undo &&
    (() => {
      clearTimeout(timer);
      ends.delete(id);
      remove(id);
      undo();
    });
  change([...toasts, { id, text, isProblem, undo: takeBack }]);
}

function end(id: number): void {
  ends.get(id)?.();
  ends.delete(id);
  remove(id);
}

const remove = (id: number) => change(toasts.filter((toast) => toast.id !== id));

function change(next: readonly Toast[]): void {
  toasts = next;
  for (const listener of listeners) listener();
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

addEventListener("pagehide", () => {
  for (const toast of toasts) end(toast.id);
});
