/** `bun test/attack/main.ts [words]`: runs the attacks whose names have one of the words, and prints the stalls. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ATTACKS } from './attacks.ts'
import { runAttack, textOfStalls } from './run-attack.ts'

const words = process.argv.slice(2)
const folder = mkdtempSync(join(tmpdir(), 'tidemark-attack-'))
const attacks = ATTACKS.filter(
  ({ name }) => words.length === 0 || words.some((word) => name.includes(word)),
)
const result = await runAttack({
  data_dir: join(folder, 'data'),
  attacks,
  seed: Number(process.env['SEED'] ?? 1),
  seconds: Number(process.env['ATTACK_S'] ?? 600),
  requests_max: Number(process.env['ATTACK_REQUESTS'] ?? 1000),
  stall_ms: 50,
})
const { stalls, ...rest } = result
process.stdout.write(`${JSON.stringify(rest, null, 1)}\n${textOfStalls(stalls)}\n`)
rmSync(folder, { recursive: true, force: true })
