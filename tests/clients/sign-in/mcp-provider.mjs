// The certified OpenID provider `oidc-provider`, as an authorization server for MCP clients: they register themselves,
// and its access tokens are JWTs for the resource that was requested. Any user name is an account.
// node mcp-provider.mjs PORT; the packages are in the folder PACKAGES.
import { createRequire } from "node:module";
import path from "node:path";
import { pathToFileURL } from "node:url";

const found = createRequire(path.join(process.env.PACKAGES, "package.json")).resolve("oidc-provider");
const { Provider } = await import(pathToFileURL(found));
const [port] = process.argv.slice(2);

const provider = new Provider(`http://localhost:${port}`, {
  scopes: ["openid", "offline_access", "mcp:*"],
  findAccount: (_, id) => ({ accountId: id, claims: () => ({ sub: id }) }),
  features: {
    devInteractions: { enabled: true },
    registration: { enabled: true },
    resourceIndicators: {
      enabled: true,
      getResourceServerInfo: (_, resource) => ({ audience: resource, scope: "mcp:*", accessTokenFormat: "jwt" }),
      useGrantedResource: () => true,
    },
  },
  pkce: { required: () => true },
  cookies: { keys: ["a key of this test"] },
});
provider.listen(Number(port), "localhost", () => console.log("listening"));
