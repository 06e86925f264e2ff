/** The faces that clients connect to, and code for each. */
import { useQuery } from "@tanstack/react-query";
import { API_URL, call } from "../../api/client";
import type * as Api from "../../api/schema";

export type FaceLine = Api.FaceLine;
export type SnippetRequest = Api.SnippetRequest;
/** The code holds `YOUR_KEY` where a key belongs. */
export type Snippet = Api.Snippet;

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
