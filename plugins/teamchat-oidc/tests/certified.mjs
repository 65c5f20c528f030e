// A certified provider (the npm package oidc-provider) for tests: node certified.mjs PACKAGE PORT CHAT
const [folder, port, chat] = process.argv.slice(2);
const { Provider } = await import(`${folder}/lib/index.js`);

const provider = new Provider(`http://127.0.0.1:${port}`, {
  clients: [
    {
      client_id: "the chat",
      client_secret: "a secret + of/the chat's",
      redirect_uris: [`${chat}/auth/oauth/company/callback`],
      post_logout_redirect_uris: [`${chat}/`],
      backchannel_logout_uri: `${chat}/auth/oauth/company/backchannel-logout`,
      backchannel_logout_session_required: true,
    },
  ],
  claims: { openid: ["sub", "sid"], email: ["email", "email_verified"], profile: ["groups"] },
  features: { backchannelLogout: { enabled: true } },
  // It asks no loopback address by itself, and the chat of the tests has no other.
  fetch: (url, { dispatcher, ...options }) => fetch(url, options),
  cookies: { keys: ["a key of the tests"] },
  findAccount: (_, id) => ({
    accountId: id,
    claims: () => ({ sub: id, email: `${id}@example.org`, email_verified: true, groups: ["staff", "chat-admins"] }),
  }),
});
provider.on("backchannel.error", (_, error) => console.error(`backchannel: ${error}`));
provider.listen(Number(port), "127.0.0.1", () => console.log("ready"));
