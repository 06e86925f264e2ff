import { chartUrl, fileUrl, pageUrl } from "../../api/client";
import type { ArtifactItem } from "../../log/fold";
import { Icon } from "../../parts/Icon";
import { useWords } from "../../words";

/** A chart is an image, because SVG may hold scripts. An HTML file is a page in a sandbox, without scripts. */
export function Artifact({ item }: { item: ArtifactItem }) {
  const t = useWords();
  if (item.isChart) {
    return (
      <figure className="chart">
        <img src={chartUrl(item.id)} alt={item.name} />
      </figure>
    );
  }
  const name = item.name || t("chat.file");
  const url = item.isPage ? pageUrl(item.id) : fileUrl(item.id);
  const link = (
    <a className="chip" href={url} target="_blank" rel="noreferrer" title={t("chat.opensFile", { name })}>
      <Icon name="file" />
      {name}
    </a>
  );
  if (!item.isPage) return link;
  return (
    <figure className="made-page">
      <iframe src={url} sandbox="" title={name} loading="lazy" />
      <figcaption>{link}</figcaption>
    </figure>
  );
}
