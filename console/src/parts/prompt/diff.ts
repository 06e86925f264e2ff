/** What changed between two lists, such as the messages of two model calls. */

export interface Step<Item> {
  change: "same" | "added" | "removed";
  item: Item;
}

/** Above this, what differs in the middle is not matched item by item. */
const MAX_CELLS = 1_000_000;

/** The steps from one list to the other, in the order of the page: what was removed stands before what took its place. */
export function diffLists<Item>(before: readonly Item[], after: readonly Item[]): Step<Item>[] {
  let start = 0;
  while (start < before.length && start < after.length && before[start] === after[start]) start++;
  let end = 0;
  const most = Math.min(before.length, after.length) - start;
  while (end < most && before[before.length - 1 - end] === after[after.length - 1 - end]) end++;
  const left = before.slice(start, before.length - end);
  const right = after.slice(start, after.length - end);
  const same = (items: readonly Item[]) => items.map((item): Step<Item> => ({ change: "same", item }));
  return [...same(after.slice(0, start)), ...diffMiddle(left, right), ...same(after.slice(after.length - end))];
}

function diffMiddle<Item>(before: readonly Item[], after: readonly Item[]): Step<Item>[] {
  const removed = (items: readonly Item[]) => items.map((item): Step<Item> => ({ change: "removed", item }));
  const added = (items: readonly Item[]) => items.map((item): Step<Item> => ({ change: "added", item }));
  if (before.length === 0 || after.length === 0 || before.length * after.length > MAX_CELLS) {
    return [...removed(before), ...added(after)];
  }
  const lengths = commonLengths(before, after);
  const at = (row: number, column: number) => lengths[row * (after.length + 1) + column] ?? 0;
  const steps: Step<Item>[] = [];
  let [row, column] = [0, 0];
  while (row < before.length && column < after.length) {
    if (before[row] === after[column]) {
      steps.push({ change: "same", item: after[column++] as Item });
      row++;
    } else if (at(row + 1, column) >= at(row, column + 1)) steps.push(...removed(before.slice(row, ++row)));
    else steps.push(...added(after.slice(column, ++column)));
  }
  return [...steps, ...removed(before.slice(row)), ...added(after.slice(column))];
}

/** The length of the longest common list of what follows each pair of places. */
function commonLengths<Item>(before: readonly Item[], after: readonly Item[]): Uint32Array {
  const width = after.length + 1;
  const lengths = new Uint32Array((before.length + 1) * width);
  for (let row = before.length - 1; row >= 0; row--) {
    for (let column = after.length - 1; column >= 0; column--) {
      lengths[row * width + column] =
        before[row] === after[column]
          ? (lengths[(row + 1) * width + column + 1] ?? 0) + 1
          : Math.max(lengths[(row + 1) * width + column] ?? 0, lengths[row * width + column + 1] ?? 0);
    }
  }
  return lengths;
}

/** By lines, for a text that took the place of another. */
export const diffTexts = (before: string, after: string) => diffLists(before.split("\n"), after.split("\n"));
