/** Builds the web interface when the server runs from source. In the executable, the build replaces this file by the built interface. */
import type { WebFiles } from './web-pack.ts'

/** Reads all files of the web interface; takes some 0.3 s from source. */
export async function readWebFiles(): Promise<WebFiles> {
  // Loaded when it is needed: a server that only takes events never builds it.
  const { buildWeb, QUICKLY } = await import('./web-build.ts')
  return buildWeb(QUICKLY)
}
