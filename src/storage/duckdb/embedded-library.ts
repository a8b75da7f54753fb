/** DuckDB's library inside the compiled executable; `src/build.ts` puts another module in the place of this one. */
import type { EmbeddedLibrary } from './duckdb-native.ts'

/** Null from source, where the library is an ordinary file of a package. */
export const EMBEDDED: EmbeddedLibrary | null = null
