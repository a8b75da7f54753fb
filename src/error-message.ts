/** The message and the code of anything that was thrown. */
export function errorMessage(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

/** The code that the system or SQLite gave an error, such as `ENOSPC`. */
export function findErrorCode(error: unknown): string | null {
  return error instanceof Error && 'code' in error ? String(error.code) : null
}
