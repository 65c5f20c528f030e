// Whether this browser has what the client can't do without. If not, the page says so in the sentence that
// stands in the index for browsers without JavaScript, and the rest of the client doesn't begin. Written for
// browsers of any age: no module, and nothing younger than ECMAScript 5.

(function () {
  "use strict";

  // Of what is needed, the youngest; whoever has these has modules, private methods and the rest.
  function isRecent() {
    try {
      return Boolean(
        new RegExp("\\p{RGI_Emoji}", "v") &&
          AbortSignal.any &&
          URL.canParse &&
          [].toSpliced &&
          document.body.showPopover &&
          CSS.supports("selector(&)") &&
          CSS.supports("color", "light-dark(#fff, #000)")
      );
    } catch (error) {
      return false;
    }
  }

  // The language that was chosen in the client, or else one of the browser's; both as far as there are any.
  function languages() {
    var chosen = "";
    try {
      chosen = localStorage["teamchat/language"] || "";
    } catch (error) {
      // None is kept.
    }
    var all = [chosen].concat(navigator.languages || navigator.language || "", "en");
    return all.join().match(/\b[a-z]{2}\b/g);
  }

  function say(words, language) {
    var line = document.createElement("p");
    line.setAttribute("role", "alert");
    line.style.margin = "4em 2em";
    line.appendChild(document.createTextNode(words));
    document.documentElement.lang = language;
    document.body.appendChild(line);
  }

  function tell() {
    var all = document.getElementsByTagName("noscript")[0].textContent;
    var wanted = languages();
    for (var at = 0; at < wanted.length; at++) {
      var found = all.split('lang="' + wanted[at] + '">')[1];
      if (found) return say(found.split("<")[0], wanted[at]);
    }
  }

  if (isRecent()) return;
  window.TEAMCHAT_TOO_OLD = true; // main.js runs nonetheless where only some of it is missing.
  tell();
})();
