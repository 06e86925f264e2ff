/** Loads a part of the console that is not in its first load. */
import { lazy, type ComponentType } from "react";

/** The server has another version of the console: the files of this one are gone. */
export class ChunkMissing extends Error {}
/** The file could not be loaded, because the server or the network is away. */
export class ChunkUnreachable extends Error {}

export async function loadChunk<T>(load: () => Promise<T>): Promise<T> {
  try {
    return await load().catch(load); // a lost connection is often back at once
  } catch (error) {
    throw (await isReplaced()) ? new ChunkMissing(String(error)) : new ChunkUnreachable(String(error));
  }
}

/** Whether the server's page loads other scripts than this one. An unreachable server has replaced nothing. */
export async function isReplaced(
  read = () => fetch(document.baseURI, { cache: "no-store" }),
  ours = () => [...document.querySelectorAll<HTMLScriptElement>("script[src]")].map((script) => script.src),
): Promise<boolean> {
  try {
    const response = await read();
    if (!response.ok) return false;
    const page = await response.text();
    return ours().some((src) => !page.includes(src.slice(src.lastIndexOf("/") + 1)));
  } catch {
    return false;
  }
}

const failed = new Set<() => void>();

/** React keeps the failure of a lazy part: after this, the parts that have failed are loaded again. */
export function forgetFailures(): void {
  for (const forget of failed) forget();
  failed.clear();
}

/** As `lazy` of React, with errors that say why, and a second chance after `forgetFailures`. */
export function lazyPart<Props extends object>(
  load: () => Promise<{ default: ComponentType<Props> }>,
): ComponentType<Props> {
  const make = () =>
    lazy(() =>
      loadChunk(load).catch((error: unknown) => {
        failed.add(() => (Part = make()));
        throw error;
      }),
    );
  let Part = make();
  return function LazyPart(props: Props) {
    return <Part {...props} />;
  };
}
