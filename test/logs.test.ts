/** Logs: one JSON object a line, and no key in any of them. */
import { describe, expect, test } from 'bun:test'
import { openLog } from '../src/logs.ts'

function logTo(lines: string[], secrets: readonly (string | null)[] = []) {
  return openLog('info', secrets, { write: (line) => lines.push(line) })
}

describe('the log', () => {
  test('writes one JSON object a line', () => {
    const lines: string[] = []
    logTo(lines).info({ port: 8000 }, 'listening')
    expect(lines).toHaveLength(1)
    expect(JSON.parse(lines[0] ?? '')).toEqual({
      level: 'info',
      time: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
      port: 8000,
      msg: 'listening',
    })
  })

  test.each([
    ['in a message', (log: ReturnType<typeof logTo>) => log.info('got phx_0123456789abcdef')],
    [
      'in a member',
      (log: ReturnType<typeof logTo>) => log.info({ a: 'Bearer phx_0123456789abcdef' }),
    ],
    ['as a member', (log: ReturnType<typeof logTo>) => log.info({ api_key: '0123456789abcdef' })],
    [
      'in an error',
      (log: ReturnType<typeof logTo>) => log.error({ err: new Error('phx_0123456789abcdef') }),
    ],
    ['preset', (log: ReturnType<typeof logTo>) => log.info({ a: 'x my-0123456789abcdef y' })],
  ])('never holds a key %s', (_where, write) => {
    const lines: string[] = []
    write(logTo(lines, ['my-0123456789abcdef', null]))
    expect(lines).toHaveLength(1)
    expect(lines.join()).not.toContain('0123456789abcdef')
  })

  test('writes nothing below its level', () => {
    const lines: string[] = []
    logTo(lines).debug('details')
    expect(lines).toEqual([])
  })
})
