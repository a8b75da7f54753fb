/** Loaded before each file of `bun run check`: what its tests start comes from the bundle, not from the source. */
import { useBundle } from './bundle.ts'

void Bun.plugin(useBundle())
