/** Markdown of a model as elements. HTML in it is shown as text, and images of other servers as links. */
import { memo } from "react";
import ReactMarkdown, { type Components } from "react-markdown";
import { API_URL } from "../api/client";
import { useWords } from "../words";
import { gfm } from "./gfm";
import "./markdown.css";

const PLUGINS = [gfm];
const FILES_URL = `${API_URL}files/`;

const COMPONENTS: Components = {
  a: ({ href, children }) =>
    isSafe(href) ? <OutsideLink href={href}>{children}</OutsideLink> : <span>{children}</span>,
  img: ({ src, alt }) => <Picture src={typeof src === "string" ? src : ""} alt={alt ?? ""} />,
  table: ({ children }) => (
    <div className="table">
      <table>{children}</table>
    </div>
  ),
};

export const Markdown = memo(function Markdown({ text }: { text: string }) {
  return (
    <div className="markdown">
      <ReactMarkdown remarkPlugins={PLUGINS} components={COMPONENTS} urlTransform={(url) => url}>
        {text}
      </ReactMarkdown>
    </div>
  );
});

/** Addresses are checked here, by scheme: a relative one would lead into the console. */
function isSafe(url: string | undefined): url is string {
  return url !== undefined && /^(https?:\/\/|mailto:)/i.test(url);
}

function OutsideLink({ href, children }: { href: string; children: React.ReactNode }) {
  return (
    <a href={href} target="_blank" rel="noreferrer">
      {children}
    </a>
  );
}

function Picture({ src, alt }: { src: string; alt: string }) {
  const t = useWords();
  if (src.startsWith(FILES_URL)) return <img src={src} alt={alt} />;
  if (!isSafe(src) || !URL.canParse(src)) return <span>{alt}</span>;
  return <OutsideLink href={src}>{t("chat.imageElsewhere", { host: new URL(src).host, name: alt })}</OutsideLink>;
}
