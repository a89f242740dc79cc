// An OpenID provider on a free port, which it prints: npm's oidc-provider with its own pages for login, consent and logout.
// Arguments: its node_modules folder, the URL of the console, the client's secret or "", and the age of its tokens in seconds.
import { generateKeyPairSync } from "node:crypto";
import { createServer } from "node:http";
import { pathToFileURL } from "node:url";

const [modules, console_url, client_secret, age_s] = process.argv.slice(2);
const { default: Provider } = await import(pathToFileURL(`${modules}/oidc-provider/lib/index.js`));
const GROUPS = { ann: ["Analysts", "staff"] };
const { privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });

const now = Date.now;
let late_ms = 0;
Date.now = () => now() - late_ms;
let handle;
const server = createServer((request, response) => {
  late_ms = request.url === "/token" ? Number(age_s) * 1000 : 0;
  handle(request, response);
});
server.listen(0, "127.0.0.1", () => {
  const { port } = server.address();
  const provider = new Provider(`http://127.0.0.1:${port}`, {
    clients: [{
      client_id: "console",
      ...(client_secret ? { client_secret } : { token_endpoint_auth_method: "none" }),
      redirect_uris: [`${console_url}/login/callback`],
      post_logout_redirect_uris: [`${console_url}/login`],
    }],
    claims: { profile: ["preferred_username", "groups"] },
    cookies: { keys: ["a key for tests"] },
    findAccount: (_, id) => ({ accountId: id, claims: () => ({ sub: id, preferred_username: id, groups: GROUPS[id] }) }),
    jwks: { keys: [{ ...privateKey.export({ format: "jwk" }), kid: "k1", use: "sig", alg: "RS256" }] },
    pkce: { required: () => true },
  });
  handle = provider.callback();
  process.stdout.write(`${port}\n`);
});
