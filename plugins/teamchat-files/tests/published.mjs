// The published tus client of npm, for tests: node published.mjs PACKAGE, and on the standard input what to do, as JSON.
//
// It uploads a file in chunks, or goes on with it where another process has stopped; `pauseAt` pauses and resumes, and
// `stopAt` leaves the rest to another process, after so many bytes. What has happened is printed as JSON.
import { createReadStream } from "node:fs";
import { createRequire } from "node:module";
import { text } from "node:stream/consumers";

const tus = createRequire(import.meta.url)(process.argv[2]);
const asked = JSON.parse(await text(process.stdin));
const told = { resumed: false, pauses: 0, offsets: [], url: null };

if (asked.end) {
  await tus.Upload.terminate(asked.end, { headers: asked.headers });
} else {
  await upload();
}
console.log(JSON.stringify(told));

async function upload() {
  const { promise, resolve, reject } = withResolvers();
  const one = new tus.Upload(createReadStream(asked.file), {
    endpoint: asked.endpoint,
    headers: asked.headers,
    metadata: asked.metadata,
    chunkSize: asked.chunkSize,
    uploadDataDuringCreation: asked.isInOne ?? false,
    urlStorage: new tus.FileUrlStorage(asked.urls),
    retryDelays: [0, 200, 1000],
    onError: reject,
    onSuccess: resolve,
    onChunkComplete: async (_, offset) => {
      told.offsets.push(offset);
      if (asked.stopAt && offset >= asked.stopAt) {
        await one.abort();
        resolve();
      } else if (asked.pauseAt && offset >= asked.pauseAt && !told.pauses) {
        told.pauses += 1;
        await one.abort();
        one.start();
      }
    },
  });
  const [earlier] = await one.findPreviousUploads();
  if (earlier) {
    told.resumed = true;
    one.resumeFromPreviousUpload(earlier);
  }
  one.start();
  await promise;
  told.url = one.url;
}

function withResolvers() {
  const made = {};
  made.promise = new Promise((resolve, reject) => Object.assign(made, { resolve, reject }));
  return made;
}
