/** Bundles the program into dist/package before the package is packed; `testing/start.ts` starts it from there. */
import { join } from 'node:path'
import { bundleProgram } from './bundle.ts'

await bundleProgram(join(import.meta.dir, '../dist/package'))
