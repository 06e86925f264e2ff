/** The one policy of trusted types: it lets the address of the console's own worker through, and nothing else. */
import workerUrl from "./worker?sharedworker&url";

interface PolicyFactory {
  createPolicy(
    name: string,
    rules: { createScriptURL: (url: string) => string },
  ): {
    createScriptURL: (url: string) => string;
  };
}

export function trustedWorkerUrl(): string {
  const factory = (globalThis as { trustedTypes?: PolicyFactory }).trustedTypes;
  if (!factory) return workerUrl;
  const policy = factory.createPolicy("rightseat", {
    createScriptURL: (url) => {
      if (url !== workerUrl) throw new TypeError(`${url} is no script of the console.`);
      return url;
    },
  });
  return policy.createScriptURL(workerUrl);
}
