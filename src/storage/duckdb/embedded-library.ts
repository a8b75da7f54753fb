/** DuckDB's library inside the compiled executable; `src/build.ts` puts another module in the place of this one. */

/** A file that the build put into the executable, and the name it must have on disk. */
export type EmbeddedFile = {
  readonly name: string
  readonly path: string
  readonly byte_count: number
}

/** The files that the build embeds: the addon, the library that it loads from its own folder, one hash over both. */
export type EmbeddedLibrary = {
  readonly addon: EmbeddedFile
  readonly library: EmbeddedFile
  readonly sha256: string
}

/** Null from source, where the library is an ordinary file of a package. */
export const EMBEDDED: EmbeddedLibrary | null = null
