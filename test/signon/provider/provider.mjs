// An OpenID Connect provider for tests, on a free loopback port. Its first line says its issuer, and it ends with its
// standard input. PUT /accounts/NAME sets the claims of an account; a browser logs in as the account that its header
// X-Account names, and refuses to without one. PUT /listeners/ has the URL in its body be told of every log-out.
import http from 'node:http';
import { Provider } from 'oidc-provider';

const accounts = new Map();
const listeners = new Set();
const logOuts = 'http://127.0.0.1/log-outs'; // stands for all listeners: a client has one address, and tests many
const server = http.createServer();
await new Promise((ready) => server.listen(0, '127.0.0.1', ready));
const issuer = `http://127.0.0.1:${server.address().port}`;

const provider = new Provider(issuer, {
  clients: [{
    client_id: 'muster',
    client_secret: 'secret-of-muster',
    application_type: 'native', // loopback addresses on any port
    redirect_uris: ['http://127.0.0.1/ui/login/callback', 'http://localhost/ui/login/callback'],
    post_logout_redirect_uris: ['http://127.0.0.1/ui/login', 'http://localhost/ui/login'],
    response_types: ['code'],
    grant_types: ['authorization_code', 'refresh_token', 'urn:ietf:params:oauth:grant-type:device_code'],
    token_endpoint_auth_method: 'client_secret_basic',
    backchannel_logout_uri: logOuts,
    backchannel_logout_session_required: true, // the ID token has a sid
  }],
  claims: {
    profile: ['preferred_username', 'groups'],
    email: ['email', 'email_verified'],
  },
  pkce: { required: () => true },
  issueRefreshToken: (ctx, client) => client.grantTypeAllowed('refresh_token'),
  features: {
    devInteractions: { enabled: false },
    deviceFlow: { enabled: true },
    rpInitiatedLogout: { enabled: true },
    backchannelLogout: { enabled: true },
  },
  async fetch(url, options) {
    if (String(url) !== logOuts) return fetch(url, options);
    const { method, headers, body } = options;
    await Promise.allSettled([...listeners].map((to) => fetch(to, { method, headers, body: String(body) })));
    return new Response(null, { status: 200 });
  },
  interactions: { url: (ctx, interaction) => `/interaction/${interaction.uid}` },
  findAccount: (ctx, id) => accounts.has(id) && {
    accountId: id,
    claims: () => ({ sub: id, ...accounts.get(id) }),
  },
  cookies: { keys: ['for tests only'] },
  ttl: { IdToken: 300, AccessToken: 300, Interaction: 300, Session: 300, Grant: 300, DeviceCode: 300, RefreshToken: 300 },
});

async function interact(request, response) {
  const { prompt, params, session, grantId } = await provider.interactionDetails(request, response);
  const account = request.headers['x-account'];
  let result = { error: 'access_denied' };
  if (prompt.name === 'login' && account) {
    result = { login: { accountId: account } };
  } else if (prompt.name === 'consent') {
    const grant = grantId ? await provider.Grant.find(grantId)
      : new provider.Grant({ accountId: session.accountId, clientId: params.client_id });
    grant.addOIDCScope(params.scope);
    result = { consent: { grantId: await grant.save() } };
  }
  await provider.interactionFinished(request, response, result, { mergeWithLastSubmission: true });
}

async function putAccount(request, response) {
  let text = '';
  for await (const piece of request) text += piece;
  accounts.set(request.url.slice('/accounts/'.length), JSON.parse(text));
  response.writeHead(204).end();
}

async function putListener(request, response) {
  let text = '';
  for await (const piece of request) text += piece;
  listeners.add(text);
  response.writeHead(204).end();
}

const serve = provider.callback();
server.on('request', (request, response) => {
  let answer = serve;
  if (request.url.startsWith('/interaction/')) answer = interact;
  if (request.method === 'PUT' && request.url.startsWith('/accounts/')) answer = putAccount;
  if (request.method === 'PUT' && request.url === '/listeners/') answer = putListener;
  Promise.resolve(answer(request, response)).catch((err) => {
    console.error(err);
    response.writeHead(500).end();
  });
});
process.stdin.on('end', () => process.exit(0)).resume();
console.log(issuer);
