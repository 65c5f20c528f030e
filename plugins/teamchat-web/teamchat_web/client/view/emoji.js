// Emoji and the words they are found by, English ones first and German ones after them. The first word
// is the name; the table is small on purpose, any other emoji can be typed.
const TABLE = {
  faces: `😀 grinning grinsen|😃 smiley froh|😄 smile lachen|😁 beaming strahlen|😆 laughing lachen
😅 sweat_smile schwitzen|🤣 rofl kugeln|😂 joy tears lachtränen|🙂 slight_smile lächeln
🙃 upside_down kopfüber|😉 wink zwinkern|😊 blush freude|😇 innocent halo engel|🥰 loved verliebt
😍 heart_eyes verliebt|🤩 star_struck begeistert|😘 kiss kuss|😋 yum lecker|😛 tongue zunge
😜 winking_tongue frech|🤪 zany verrückt|🤗 hug umarmung|🤭 oops kichern|🤫 shush leise|🤔 thinking denken hmm
🤐 zipper_mouth schweigen|🤨 raised_eyebrow skeptisch|😐 neutral|😑 expressionless ausdruckslos
😶 no_mouth sprachlos|😏 smirk|😒 unamused genervt|🙄 eye_roll augenrollen|😬 grimace|😌 relieved erleichtert
😔 pensive traurig|😪 sleepy müde|🤤 drooling|😴 sleeping zzz schlafen|😷 mask maske krank
🤒 sick fieber krank|🤕 hurt verletzt|🤢 nauseated übel|🤮 vomiting|🤧 sneezing schnupfen|🥵 hot heiß
🥶 cold kalt|🥴 woozy|😵 dizzy schwindlig|🤯 mind_blown baff|🥳 party feiern|😎 cool sunglasses|🤓 nerd
🧐 monocle|😕 confused verwirrt|😟 worried besorgt|🙁 frown|😮 wow open_mouth staunen|😲 astonished erstaunt
😳 flushed verlegen|🥺 pleading bitte|😨 fearful angst|😰 anxious|😢 cry weinen|😭 sob heulen|😱 scream schrei
😞 disappointed enttäuscht|😓 sweat|😩 weary|😫 tired müde|🥱 yawn gähnen|😤 huff|😡 angry rage wütend
🤬 swearing fluchen|😈 devil teufel|💀 skull dead|💩 poop|🤡 clown|👻 ghost gespenst|👽 alien
🤖 robot bot roboter|🫠 melting schmelzen|🫡 salute salutieren|🫣 peeking|🥹 touched gerührt
🫥 dotted unsichtbar`,
  people: `👍 thumbs_up +1 yes daumen ja|👎 thumbs_down -1 no nein|👌 ok|✌️ victory peace
🤞 fingers_crossed daumendrücken|🤟 love_you|🤘 rock|🤙 call_me|👈 left links|👉 right rechts|👆 up hoch
👇 down runter|☝️ point_up|✋ hand stop|👋 wave hello hallo tschüss winken|👏 clap applause applaus
🙌 raised_hands hurra|🫶 heart_hands|👐 open_hands|🤲 palms|🤝 handshake deal abgemacht
🙏 thanks please pray danke bitte|✍️ writing schreiben|💪 strong muscle stark|👀 eyes look augen schauen
👁️ eye auge|🧠 brain gehirn|🫀 heart_organ|🦴 bone|👶 baby|🧒 child kind|🧑 person|👩 woman frau|👨 man mann
🧑‍💻 developer coder entwickeln|🧑‍🔬 scientist forschen|🧑‍🎨 artist|🧑‍🚀 astronaut|🧑‍🍳 cook kochen
🧑‍🏫 teacher lehren|🕵️ detective|💂 guard|👷 builder bauen|🦸 hero held|🧙 mage zauberer|🧟 zombie
🤷 shrug achselzucken|🤦 facepalm|🙋 raise_hand melden|🙅 no_good|🙆 all_good|💁 info|🏃 running laufen
🚶 walking gehen|💃 dancing tanzen|🧘 calm meditate ruhe|👥 team people leute|🫂 hugging trost|👣 footprints`,
  nature: `🐶 dog hund|🐱 cat katze|🐭 mouse maus|🐰 rabbit hase|🦊 fox fuchs|🐻 bear bär|🐼 panda|🐨 koala|🐯 tiger
🦁 lion löwe|🐮 cow kuh|🐷 pig schwein|🐸 frog frosch|🐵 monkey affe|🙈 see_no_evil|🙉 hear_no_evil
🙊 speak_no_evil|🐔 chicken huhn|🐧 penguin pinguin|🐦 bird vogel|🦆 duck ente|🦉 owl eule|🐺 wolf
🦄 unicorn einhorn|🐝 bee biene|🐛 bug käfer fehler|🦋 butterfly schmetterling|🐌 snail schnecke langsam
🐞 ladybug marienkäfer|🐢 turtle schildkröte|🐍 snake python schlange|🐙 octopus|🦀 crab rust krabbe
🐟 fish fisch|🐬 dolphin|🐳 whale docker wal|🦖 dinosaur|🐘 elephant postgres elefant|🦔 hedgehog igel
🌵 cactus|🌲 tree baum|🌱 seedling pflanze|🍀 clover luck glück|🌷 tulip blume|🌸 blossom blüte|🌻 sunflower
🌹 rose|🍂 autumn herbst|🌍 earth welt|🌙 moon mond|⭐ star stern|🌟 glowing_star|✨ sparkles glitzer neu
⚡ lightning fast blitz|🔥 fire feuer|🌈 rainbow regenbogen|☀️ sun sonne|⛅ cloudy wolkig|🌧️ rain regen
❄️ snow schnee|🌊 wave_water welle|💧 drop tropfen`,
  food: `🍎 apple apfel|🍌 banana|🍇 grapes|🍓 strawberry erdbeere|🍒 cherries|🍑 peach|🍍 pineapple ananas|🥑 avocado
🍅 tomato|🥕 carrot karotte|🌽 corn|🥐 croissant|🍞 bread brot|🥨 pretzel brezel|🧀 cheese käse|🥚 egg ei
🍔 burger|🍟 fries pommes|🍕 pizza|🌮 taco|🥗 salad salat|🍝 pasta nudeln|🍜 noodles ramen|🍣 sushi
🍦 ice_cream eis|🍩 donut|🍪 cookie keks|🎂 birthday cake geburtstag|🍰 cake kuchen|🍫 chocolate schokolade
🍿 popcorn|☕ coffee kaffee|🍵 tea tee|🍺 beer bier|🍻 cheers prost|🥂 toast anstoßen|🍷 wine wein|🧃 juice saft`,
  things: `🎉 tada party hooray hurra|🎊 confetti|🎈 balloon|🎁 gift geschenk|🏆 trophy pokal|🥇 gold first|🥈 silver
🥉 bronze|🎯 target ziel|🎲 dice|🎮 game spiel|🎸 guitar|🎵 music musik|🎧 headphones|🎨 art kunst|🎬 film
📷 camera foto|💻 laptop computer|🖥️ screen bildschirm|⌨️ keyboard tastatur|📱 phone handy|🔋 battery akku
🔌 plug|💡 idea bulb idee|🔦 torch|🕯️ candle|🧯 extinguisher löschen|💰 money geld|💳 card|💎 gem
⚙️ gear settings zahnrad|🔧 wrench fix reparieren|🔨 hammer build|🛠️ tools werkzeug|🧰 toolbox
🧪 test experiment|🔬 microscope|🔭 telescope|📡 antenna|💊 pill|🧹 broom cleanup aufräumen|🧺 basket|🪣 bucket
🔑 key schlüssel|🔒 locked sicher|🔓 unlocked|🚪 door|📦 package release paket|📫 mailbox post|✉️ mail brief
📝 memo notiz|📄 page seite|📚 books bücher|🔖 bookmark|📎 paperclip anhang|📌 pin|📊 chart diagramm
📈 rising wachstum|📉 falling|📅 calendar kalender|⏰ alarm wecker|⏳ waiting hourglass warten
⌛ done_hourglass|🗑️ trash müll|🚀 rocket ship launch rakete|✈️ plane flugzeug|🚲 bike rad|🚗 car auto
🚆 train zug|🚢 ship_boat schiff|🏠 home haus|🏢 office büro|🏖️ beach urlaub strand|⛰️ mountain berg
🗺️ map karte|🚧 construction baustelle|🚨 alert alarm|🚦 traffic_light ampel`,
  signs: `❤️ heart love herz|🧡 orange_heart|💛 yellow_heart|💚 green_heart|💙 blue_heart|💜 purple_heart|🖤 black_heart
💔 broken_heart|💯 hundred perfect|💢 anger|💥 boom knall|💫 dizzy_star|💤 zzz|💬 speech sprechblase
💭 thought gedanke|✅ check done yes erledigt haken|☑️ checkbox|✔️ tick|❌ cross no nein falsch|❎ no_box
➕ plus|➖ minus|❓ question frage|❗ exclamation wichtig|⚠️ warning warnung|⛔ no_entry|🚫 forbidden verboten
🛑 stop_sign halt|♻️ recycle|🔁 repeat nochmal|🔄 refresh sync|🔙 back|🔜 soon bald|🔝 top|🆕 new neu|🆗 ok_box
🆘 sos hilfe|ℹ️ info_sign|🔴 red rot|🟠 orange|🟡 yellow gelb|🟢 green grün|🔵 blue blau|⚫ black schwarz
⚪ white weiß|🔔 bell glocke|🔕 mute stumm|🔍 search suche|➡️ arrow_right|⬅️ arrow_left|⬆️ arrow_up
⬇️ arrow_down|#️⃣ hash|1️⃣ one eins|2️⃣ two zwei|3️⃣ three drei|🏁 finish ziel|🚩 flag problem|🏳️‍🌈 pride
🇪🇺 europe|©️ copyright|™️ trademark|♾️ infinity|🏷️ label etikett`,
};

/** All emoji by group: [{name, all: [{emoji, name, words}]}]. */
export const groups = Object.entries(TABLE).map(([name, lines]) => ({
  name,
  all: lines.split(/[|\n]/).map((line) => {
    const [emoji, ...found] = line.split(" ");
    return { emoji, name: found[0].replaceAll("_", " "), words: found };
  }),
}));

/** Those with a word that begins with, or else holds, what is asked; the best first. */
export function search(query) {
  const asked = query.toLowerCase().replaceAll(" ", "_");
  const rank = ({ words }) =>
    words[0] === asked
      ? 0
      : words[0].startsWith(asked)
        ? 1
        : words.some((word) => word.startsWith(asked))
          ? 2
          : words.some((word) => word.includes(asked))
            ? 3
            : -1;
  return groups
    .flatMap(({ all }) => all)
    .map((one) => [rank(one), one])
    .filter(([found]) => found >= 0)
    .sort(([a], [b]) => a - b)
    .map(([, one]) => one);
}
