/** Loads a part of the console that is not in its first load. Files of an older version are gone after an upgrade. */
export class ChunkMissing extends Error {}

export async function loadChunk<T>(load: () => Promise<T>): Promise<T> {
  try {
    return await load();
  } catch (error) {
    throw new ChunkMissing(String(error));
  }
}
