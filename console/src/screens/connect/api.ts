/** The faces that clients connect to, and code for each. */
import { useQuery } from "@tanstack/react-query";
import { API_URL, call } from "../../api/client";

export interface FaceLine {
  face: string;
  /** Of its clients. */
  name: string;
  configured: boolean;
  requires_key: boolean;
  agents: string[];
  /** The lines that add it to the configuration. */
  yaml: string;
}

export interface SnippetRequest {
  method: "GET" | "POST";
  /** Relative to the address of the server. */
  path: string;
  headers: Record<string, string>;
  body: string | null;
}

export interface Snippet {
  title: string;
  language: string;
  /** Holds `YOUR_KEY` where a key belongs. */
  code: string;
  request: SnippetRequest | null;
}

/** The address of the server as this page reaches it, with the prefix of a proxy. */
export const SERVER_URL = new URL("..", API_URL).href.replace(/\/$/, "");

export const useFaces = () => useQuery({ queryKey: ["snippets"], queryFn: () => call<FaceLine[]>("snippets") });

export const useSnippets = (face: string, agent: string) =>
  useQuery({
    queryKey: ["snippets", face, agent],
    queryFn: () =>
      call<Snippet[]>(
        `snippets/${encodeURIComponent(face)}?${new URLSearchParams({ address: SERVER_URL, ...(agent && { agent }) })}`,
      ),
    enabled: face !== "",
  });
