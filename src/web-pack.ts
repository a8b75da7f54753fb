/** The files of the web interface as the server reads them: compressed, and packed into one file for the executable. */

/** One file that browsers load, compressed twice: over plain http they offer gzip only. */
export type WebFile = {
  readonly name: string
  readonly content_type: string
  readonly brotli: Uint8Array<ArrayBuffer>
  readonly gzip: Uint8Array<ArrayBuffer>
}

/** The built web interface. */
export type WebFiles = {
  /** Scripts and style sheets by name; a name contains the hash of its file. */
  readonly files: ReadonlyMap<string, WebFile>
  /** HTML by the folder of the page in `src/web/pages/`; '' is the HTML of all other addresses. */
  readonly pages: ReadonlyMap<string, WebFile>
}

type PackedFile = {
  readonly list: keyof WebFiles
  readonly key: string
  readonly name: string
  readonly content_type: string
  readonly brotli_length: number
  readonly gzip_length: number
}

const LISTS = ['files', 'pages'] as const

/** Four bytes with the length of the index, the index as JSON, and all compressed files in the order of the index. */
export function packWeb(web: WebFiles): Uint8Array {
  const entries = LISTS.flatMap((list) =>
    [...web[list]].map(([key, file]) => ({ list, key, file })),
  )
  const index = entries.map(({ list, key, file }): PackedFile => {
    const { name, content_type, brotli, gzip } = file
    const lengths = { brotli_length: brotli.length, gzip_length: gzip.length }
    return { list, key, name, content_type, ...lengths }
  })
  const head = Buffer.from(JSON.stringify(index))
  const length = Buffer.alloc(4)
  length.writeUInt32LE(head.length)
  const bodies = entries.flatMap(({ file }) => [file.brotli, file.gzip])
  return Buffer.concat([length, head, ...bodies])
}

/** Reads the file that `packWeb` wrote. */
export function unpackWeb(bytes: Uint8Array<ArrayBuffer>): WebFiles {
  const head_length = new DataView(bytes.buffer, bytes.byteOffset).getUint32(0, true)
  const head = new TextDecoder().decode(bytes.subarray(4, 4 + head_length))
  const index: readonly PackedFile[] = JSON.parse(head)
  const unpacked = { files: new Map<string, WebFile>(), pages: new Map<string, WebFile>() }
  let at = 4 + head_length
  const take = (length: number) => bytes.subarray(at, (at += length))
  for (const { list, key, name, content_type, brotli_length, gzip_length } of index) {
    const brotli = take(brotli_length)
    unpacked[list].set(key, { name, content_type, brotli, gzip: take(gzip_length) })
  }
  return unpacked
}
