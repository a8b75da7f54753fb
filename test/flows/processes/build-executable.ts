/** The compiled executable, built once for all tests that run it: a build takes 7.5 s of processor time. */
import { Database } from 'bun:sqlite'
import { existsSync, mkdirSync, statSync } from 'node:fs'
import { join } from 'node:path'

const ROOT = join(import.meta.dir, '../../..')
const FOLDER = join(ROOT, 'dist')
const EXECUTABLE = join(FOLDER, 'tidemark')

/** What the executable is made of. */
const SOURCES = new Bun.Glob('{src,sql}/**/*')
const PACKAGES = ['bun.lock', 'package.json'] as const

const BUILD_MS_MAX = 170_000

/** Answers the path of `dist/tidemark`, built anew when something that it is made of is newer. */
export function buildExecutable(): string {
  mkdirSync(FOLDER, { recursive: true })
  // Of two test processes one builds, and the other waits. The lock ends with its process.
  const lock = new Database(join(FOLDER, 'building.db'), { create: true })
  try {
    lock.run(`pragma busy_timeout = ${BUILD_MS_MAX}`)
    lock.run('begin exclusive')
    if (isCurrent()) return EXECUTABLE
    const built = Bun.spawnSync([process.execPath, 'src/build.ts'], { cwd: ROOT })
    if (!built.success) throw new Error(`the build failed: ${built.stderr.toString()}`)
    return EXECUTABLE
  } finally {
    lock.close()
  }
}

function isCurrent(): boolean {
  if (!existsSync(EXECUTABLE)) return false
  const built_at = statSync(EXECUTABLE).mtimeMs
  const sources = [...PACKAGES, ...SOURCES.scanSync({ cwd: ROOT })]
  return sources.every((path) => statSync(join(ROOT, path)).mtimeMs < built_at)
}
