/** Markdown of a model as elements. HTML in it is shown as text, and images of other servers as links. */
import { isValidElement, memo, type ReactNode } from "react";
import ReactMarkdown, { type Components } from "react-markdown";
import { API_URL } from "../api/client";
import { useWords } from "../words";
import { CopyIcon } from "./CopyIcon";
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
      <table dir="auto">{children}</table>
    </div>
  ),
  pre: ({ children }) => <CodeBlock>{children}</CodeBlock>,
  input: ({ checked }) => <TaskMark isDone={checked === true} />,
  // Each block has the direction of its own first letter.
  p: ({ children }) => <p dir="auto">{children}</p>,
  ul: ({ children, className }) => (
    <ul dir="auto" className={className}>
      {children}
    </ul>
  ),
  ol: ({ children, start }) => (
    <ol dir="auto" start={start}>
      {children}
    </ol>
  ),
  blockquote: ({ children }) => <blockquote dir="auto">{children}</blockquote>,
  h1: ({ children }) => <h1 dir="auto">{children}</h1>,
  h2: ({ children }) => <h2 dir="auto">{children}</h2>,
  h3: ({ children }) => <h3 dir="auto">{children}</h3>,
  h4: ({ children }) => <h4 dir="auto">{children}</h4>,
};

/** Wide code scrolls, also with the keyboard. */
function CodeBlock({ children }: { children?: ReactNode }) {
  const t = useWords();
  const { className, children: code } = isValidElement<CodeProps>(children) ? children.props : {};
  const language = /language-(\S+)/.exec(className ?? "")?.[1] ?? "";
  const name = language || t("markdown.code");
  return (
    <div className="code-block" dir="ltr">
      <header>
        <span>{language}</span>
        <CopyIcon text={textOf(code)} name={t("markdown.copyCode")} />
      </header>
      {/* eslint-disable-next-line jsx-a11y/no-noninteractive-tabindex */}
      <pre tabIndex={0} role="region" aria-label={name}>
        {children}
      </pre>
    </div>
  );
}

interface CodeProps {
  className?: string;
  children?: ReactNode;
}

const textOf = (code: ReactNode): string =>
  typeof code === "string" ? code.replace(/\n$/, "") : Array.isArray(code) ? code.map(textOf).join("") : "";

function TaskMark({ isDone }: { isDone: boolean }) {
  const t = useWords();
  return <input type="checkbox" disabled checked={isDone} aria-label={t(isDone ? "markdown.done" : "markdown.open")} />;
}

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
