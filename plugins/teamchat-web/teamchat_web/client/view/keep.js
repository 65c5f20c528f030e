// The service worker that keeps this version's files, and what it says when a notification was pressed.

let isKept = false;

/** Let the service worker keep this version, so that the page opens without a network. */
export async function keepShell() {
  if (isKept || !navigator.serviceWorker) return;
  isKept = true;
  const script = "sw.js";
  const policy = globalThis.trustedTypes?.createPolicy("teamchat", {
    createScriptURL(url) {
      if (url !== script) throw new TypeError("There is one script whose address is made here.");
      return url;
    },
  });
  navigator.serviceWorker.addEventListener("message", ({ data }) => {
    if (data.hash) location.hash = data.hash; // A notification was pressed.
  });
  try {
    await navigator.serviceWorker.register(policy?.createScriptURL(script) ?? script);
  } catch (error) {
    console.info(error.message); // The page works without it, as long as there is a network.
  }
}
