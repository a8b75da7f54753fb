/** Reading bodies: one limit for each, one for all that come in together. */
import { describe, expect, test } from 'bun:test'
import { t } from 'elysia'
import { Refusal } from '../../src/errors.ts'
import { limitBodies, readJson } from '../../src/http/body.ts'
import { validatorOf } from '../../src/http/shape.ts'

const MIB = 1024 * 1024
const LIMITS = { body_bytes_max: 20 * MIB, receiving_bytes_max: 25 * MIB }

const refusalOf = async (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => 'none',
    (error: unknown) => {
      if (error instanceof Refusal) return `${error.code} ${error.attr}: ${error.detail}`
      throw error
    },
  )

/** A request whose body of `length` bytes begins to come and then waits for `finish`. */
function slowRequest(length: number, isAnnounced: boolean) {
  const rest = Promise.withResolvers<void>()
  const body = new ReadableStream<Uint8Array>({
    async start(stream) {
      stream.enqueue(new Uint8Array(length - 1))
      await rest.promise
      stream.enqueue(new Uint8Array(1))
      stream.close()
    },
  })
  const headers = isAnnounced ? { 'content-length': String(length) } : {}
  const request = new Request('http://localhost/', { method: 'POST', body, headers })
  return { request, finish: rest.resolve }
}

describe('bodies', () => {
  test.each([true, false])(
    'share a limit while they come in (announced: %p)',
    async (isAnnounced) => {
      const bodies = limitBodies(LIMITS)
      const large = slowRequest(15 * MIB, isAnnounced)
      const first = bodies.read(large.request)
      await Bun.sleep(1)
      const second = () => slowRequest(15 * MIB, isAnnounced)
      expect(await refusalOf(bodies.read(second().request))).toStartWith('storage_unavailable')
      // Small ones pass meanwhile.
      const small = slowRequest(1000, isAnnounced)
      small.finish()
      expect((await bodies.read(small.request)).length).toBe(1000)
      large.finish()
      expect((await first).length).toBe(15 * MIB)
      const third = second()
      third.finish()
      expect((await bodies.read(third.request)).length).toBe(15 * MIB)
    },
  )

  test('that come in at one turn are handed on one after the other once it is over', async () => {
    const bodies = limitBodies(LIMITS)
    const seen: string[] = []
    const read = async (name: string): Promise<void> => {
      const headers = { 'content-length': String(name.length) }
      await bodies.read(new Request('http://localhost/', { method: 'POST', body: name, headers }))
      seen.push(name)
    }
    setImmediate(() => seen.push('turn is over'))
    await Promise.all([read('first'), read('second')])
    expect(seen).toEqual(['turn is over', 'first', 'second'])
  })

  test('give back what they held when they are too large or break off', async () => {
    const bodies = limitBodies(LIMITS)
    const broken = () => {
      const body = new ReadableStream<Uint8Array>({
        start(stream) {
          stream.enqueue(new Uint8Array(15 * MIB))
          stream.error(new DOMException('gone', 'AbortError'))
        },
      })
      return new Request('http://localhost/', { method: 'POST', body })
    }
    for (let round = 0; round < 3; round += 1) {
      expect(await refusalOf(bodies.read(broken()))).toBe('parse_error null: The body broke off.')
      const long = slowRequest(21 * MIB, false)
      expect(await refusalOf(bodies.read(long.request))).toStartWith('request_too_large')
    }
  })
})

const SHAPE = validatorOf(
  t.Object(
    {
      name: t.String({ minLength: 1, maxLength: 5 }),
      count: t.Optional(t.Number({ multipleOf: 1 })),
      kind: t.Optional(t.Union([t.Literal('a'), t.Literal('b')])),
      filter: t.Optional(t.Object({ key: t.String() })),
    },
    { additionalProperties: false },
  ),
)

describe('JSON bodies', () => {
  const read = (body: string | Uint8Array<ArrayBuffer>) =>
    readJson(limitBodies(LIMITS), new Request('http://localhost/', { method: 'POST', body }), SHAPE)

  test('are answered as they were sent', async () => {
    expect(await read('{"name":"Web","count":3}')).toEqual({ name: 'Web', count: 3 })
  })

  test.each([
    ['{}', 'required name: This field is required.'],
    ['{"name":null}', 'null name: This field may not be null.'],
    ['{"name":""}', 'blank name: This field may not be blank.'],
    ['{"name":3}', 'invalid_input name: Not a valid string.'],
    ['{"name":{"$ne":1}}', 'invalid_input name: Not a valid string.'],
    ['{"name":"longer"}', 'max_length name: Ensure this field has no more than 5 characters.'],
    ['{"name":"a","count":"3"}', 'invalid_input count: A valid number is required.'],
    ['{"name":"a","count":3.5}', 'invalid_input count: A valid number is required.'],
    [
      '{"name":"a","kind":"c"}',
      'invalid_input kind: "c" is not a valid choice. Choose one of: a, b.',
    ],
    ['{"name":"a","filter":[]}', 'invalid_input filter: Expected an object.'],
    ['{"name":"a","filter":{"key":1}}', 'invalid_input filter__key: Not a valid string.'],
    ['{"name":"a","nmae":"b"}', 'invalid_input nmae: Unexpected field.'],
    ['[]', 'invalid_input null: Expected an object.'],
    ['null', 'null null: This field may not be null.'],
  ])('%s is refused: %s', async (body, refusal) => {
    expect(await refusalOf(read(body))).toBe(refusal)
  })

  test.each([
    ['', 'parse_error null: JSON parse error - Unexpected EOF'],
    ['{', 'parse_error null: JSON parse error - '],
    [
      `${'['.repeat(200)}${']'.repeat(200)}`,
      'parse_error null: JSON parse error - nested deeper than 128 levels',
    ],
    ['['.repeat(100_000), 'parse_error null: JSON parse error - '],
    [new Uint8Array([0x22, 0xff, 0x22]), 'parse_error null: JSON parse error - not UTF-8'],
  ])('no JSON is refused (%#)', async (body, refusal) => {
    expect(await refusalOf(read(body))).toStartWith(refusal)
  })

  test('cannot reach into prototypes', async () => {
    expect(await refusalOf(read('{"name":"a","__proto__":{"polluted":true}}'))).toStartWith(
      'invalid_input',
    )
    expect(Object.keys(Object.prototype)).toEqual([])
  })
})
