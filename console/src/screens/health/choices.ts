import type * as Api from "../../api/schema";
import type { TranslateHealth } from "./words";

/** A server at any address. */
export const OTHER = "other";

export type ModelChoice = Api.ModelChoice;

/** The title of a choice and a line about it. */
export function describeChoice(t: TranslateHealth, choice: ModelChoice): { title: string; detail: string } {
  const { id, models, name, base_url: url, variable, is_found: isFound } = choice;
  if (id === "demo") return { title: t("setup.demo"), detail: t("setup.demo.hint") };
  if (id === OTHER) return { title: t("setup.other"), detail: t("setup.other.hint") };
  if (id === "gguf") {
    const detail = isFound ? t("setup.gguf.found", { count: models.length }) : t("setup.gguf.none");
    return { title: t("setup.gguf"), detail };
  }
  if (variable) {
    return { title: name, detail: t(isFound ? "setup.provider.set" : "setup.provider.unset", { variable }) };
  }
  const address = url ? new URL(url).host : "";
  const known = models.slice(0, 4).join(", ");
  const detail = isFound ? t("setup.server.found", { models: known, address }) : t("setup.server.absent", { address });
  return { title: t("setup.server", { name }), detail };
}
