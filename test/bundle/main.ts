/** Makes the bundle that `preload.ts` lets tests start from. */
import { buildBundle } from './bundle.ts'

await buildBundle()
