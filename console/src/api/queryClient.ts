import { MutationCache, QueryCache, QueryClient } from "@tanstack/react-query";
import { ApiError } from "./client";

/** A session that has ended leads back to signing in, whichever request finds out. */
function signOutOn401(error: Error): void {
  if (error instanceof ApiError && error.status === 401) queryClient.setQueryData(["me"], null);
}

export const queryClient: QueryClient = new QueryClient({
  queryCache: new QueryCache({ onError: signOutOn401 }),
  mutationCache: new MutationCache({ onError: signOutOn401 }),
  defaultOptions: {
    queries: { retry: false, staleTime: 10_000 },
    // By default a change waits until the browser is online, and is then sent while nobody looks.
    mutations: { networkMode: "always" },
  },
});
