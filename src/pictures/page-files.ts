/** The files of the page that a picture shows: the interface's page for public links, and its answer. */
import { readWebFiles } from '../web-files.ts'
import type { WebFile, WebFiles } from '../web-pack.ts'
import type { PageFile } from './chromium.ts'

/** The page of public links, with a token that no link has. */
export const PICTURE_PATH = '/shared/picture'
const ANSWER_PATH = `${PICTURE_PATH}.json`

/** As strict as the policy of the served pages: no text of an answer becomes a script. */
const PAGE_HEADERS = {
  'Content-Security-Policy': [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "style-src-attr 'unsafe-inline'",
    'img-src data:',
    "connect-src 'self'",
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ].join('; '),
}

let reading: Promise<WebFiles> | null = null

/** Reads the interface once, and returns the file at each path of a page with this answer. */
export async function readPageFiles(
  answer: Uint8Array,
): Promise<(path: string) => PageFile | null> {
  reading ??= readWebFiles().catch((error: unknown) => {
    reading = null
    throw error
  })
  const { pages, files } = await reading
  return (path) => {
    if (path === ANSWER_PATH) return { content_type: 'application/json', bytes: answer }
    if (path === PICTURE_PATH) return unzip(pages.get('shared'), PAGE_HEADERS)
    return path.startsWith('/ui/') ? unzip(files.get(path.slice('/ui/'.length))) : null
  }
}

function unzip(file: WebFile | undefined, headers: PageFile['headers'] = {}): PageFile | null {
  if (file === undefined) return null
  return { content_type: file.content_type, bytes: Bun.gunzipSync(file.gzip), headers }
}
