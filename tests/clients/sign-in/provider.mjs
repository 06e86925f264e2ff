// The certified OpenID provider `oidc-provider`, for one client. Any user name is an account; groups are by name.
// node provider.mjs PORT CLIENT SECRET CALLBACK AFTER_SIGN_OUT; the packages are in the folder PACKAGES.
import { createRequire } from "node:module";
import path from "node:path";
import { pathToFileURL } from "node:url";

const found = createRequire(path.join(process.env.PACKAGES, "package.json")).resolve("oidc-provider");
const { Provider } = await import(pathToFileURL(found));
const [port, client_id, client_secret, callback, afterSignOut] = process.argv.slice(2);
const GROUPS = { alice: ["staff", "copilot-operators"] };

const provider = new Provider(`http://localhost:${port}`, {
  clients: [{ client_id, client_secret, redirect_uris: [callback], post_logout_redirect_uris: [afterSignOut] }],
  scopes: ["openid", "profile", "groups"],
  claims: { openid: ["sub"], groups: ["groups"] },
  findAccount: (_, id) => ({ accountId: id, claims: () => ({ sub: id, groups: GROUPS[id] ?? [] }) }),
  features: { devInteractions: { enabled: true }, rpInitiatedLogout: { enabled: true } },
  pkce: { required: () => true },
  cookies: { keys: ["a key of this test"] },
});
provider.listen(Number(port), "localhost", () => console.log("listening"));
