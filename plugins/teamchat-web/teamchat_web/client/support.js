// Whether this browser has what the client can't do without. If not, the page says so in the sentence that
// stands in the index for browsers without JavaScript, and the rest of the client doesn't begin. Written for
// browsers of any age: no module, and nothing younger than ECMAScript 5.

(function () {
  try {
    // Of what is needed, the youngest; whoever has these has modules, private methods and the rest.
    if (
      new RegExp("\\p{RGI_Emoji}", "v") &&
      AbortSignal.any &&
      URL.canParse &&
      document.body.showPopover &&
      CSS.supports("selector(&)") &&
      CSS.supports("color", "light-dark(#fff, #000)")
    ) {
      return;
    }
  } catch (error) {
    // Something is missing.
  }
  window.TEAMCHAT_TOO_OLD = true; // main.js runs nonetheless where only some of it is missing.

  // The language that was chosen in the client, or else one of the browser's; both as far as there are any.
  var wanted = [navigator.languages || navigator.language, "en"];
  try {
    wanted.unshift(localStorage["teamchat/language"]);
  } catch (error) {
    // None is kept.
  }
  wanted = wanted.join().match(/\b[a-z]{2}\b/g);

  var all = document.getElementsByTagName("noscript")[0].textContent;
  for (var at = 0, words; !words; at++) {
    words = all.split("lang=\"" + wanted[at] + "\">")[1];
  }
  document.documentElement.lang = wanted[at - 1];

  var line = document.createElement("p");
  line.setAttribute("role", "alert");
  line.style.margin = "2em";
  line.appendChild(document.createTextNode(words.split("<")[0]));
  document.body.appendChild(line);
})();
