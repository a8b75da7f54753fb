/** Reading bodies: one limit for each, one for all that come in together. */
import { describe, expect, test } from 'bun:test'
import { t } from 'elysia'
import { Refusal } from '../../../src/errors.ts'
import { limitBodies, readBody } from '../../../src/http/bodies/body.ts'
import { keepingRecent, validatorOf } from '../../../src/http/bodies/shape.ts'

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

  test('of one address leave room for those of others while they come in', async () => {
    const bodies = limitBodies({ body_bytes_max: 20 * MIB, receiving_bytes_max: 24 * MIB })
    const from = (address: string) => ({ requestIP: () => ({ address }), timeout: () => undefined })
    const first = slowRequest(15 * MIB, true)
    const other = slowRequest(8 * MIB, true)
    const reading = bodies.read(first.request, undefined, from('2001:db8::1'))
    for (const neighbour of ['2001:db8::1', '2001:db8::2']) {
      const { request } = slowRequest(8 * MIB, true)
      const refused = bodies.read(request, undefined, from(neighbour))
      expect(await refusalOf(refused)).toStartWith('storage_unavailable')
    }
    other.finish()
    const taken = await bodies.read(other.request, undefined, from('2001:db8:0:1::1'))
    expect(taken.length).toBe(8 * MIB)
    first.finish()
    expect((await reading).length).toBe(15 * MIB)
  })

  test('that come in at one turn are handed on once it is over, those for another thread at once', async () => {
    const bodies = limitBodies(LIMITS)
    const seen: string[] = []
    const read = async (method: 'read' | 'readForThread', name: string): Promise<void> => {
      const headers = { 'content-length': String(name.length) }
      await bodies[method](
        new Request('http://localhost/', { method: 'POST', body: name, headers }),
      )
      seen.push(name)
    }
    setImmediate(() => seen.push('turn is over'))
    await Promise.all([
      read('read', 'first'),
      read('read', 'second'),
      read('readForThread', 'for a thread'),
    ])
    expect(seen).toEqual(['for a thread', 'turn is over', 'first', 'second'])
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
      expect(await refusalOf(bodies.read(broken()))).toBe('parse_error null: The body ended early.')
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
      email: t.Optional(t.String({ format: 'email' })),
    },
    { additionalProperties: false },
  ),
)

describe('JSON bodies', () => {
  const read = (body: string | Uint8Array<ArrayBuffer>) =>
    readBody(limitBodies(LIMITS), new Request('http://localhost/', { method: 'POST', body }), SHAPE)

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
    ['{"name":"a","count":"3 apples"}', 'invalid_input count: A valid number is required.'],
    ['{"name":"a","count":""}', 'invalid_input count: A valid number is required.'],
    ['{"name":"a","count":"0x10"}', 'invalid_input count: A valid number is required.'],
    ['{"name":"a","count":3.5}', 'invalid_input count: A valid number is required.'],
    [
      '{"name":"a","kind":"c"}',
      'invalid_input kind: "c" is not a valid choice. Choose one of: a, b.',
    ],
    ['{"name":"a","filter":[]}', 'invalid_input filter: Expected an object.'],
    ['{"name":"a","filter":{"key":1}}', 'invalid_input filter__key: Not a valid string.'],
    ['{"name":"a","email":"b"}', 'invalid_input email: Enter a valid email address.'],
    ['{"name":"a","email":1}', 'invalid_input email: Not a valid string.'],
    ['{"name":"a","nmae":"b"}', 'invalid_input nmae: Unexpected field.'],
    ['[]', 'invalid_input null: Expected an object.'],
    ['null', 'null null: This field may not be null.'],
  ])('%s is refused: %s', async (body, refusal) => {
    expect(await refusalOf(read(body))).toBe(refusal)
  })

  test('that is empty counts as an object without members', async () => {
    expect(await refusalOf(read(''))).toBe('required name: This field is required.')
  })

  test.each([
    [' ', 'parse_error null: JSON parse error - Unexpected EOF'],
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

const FORM_SHAPE = validatorOf(
  t.Object(
    {
      name: t.Optional(t.Nullable(t.String())),
      pinned: t.Optional(t.Boolean()),
      count: t.Optional(t.Nullable(t.Number())),
      level: t.Optional(t.UnionEnum([21, 37])),
      tags: t.Optional(t.Array(t.String())),
      ids: t.Optional(t.Array(t.Number())),
      filters: t.Optional(t.Nullable(t.Object({}, { additionalProperties: true }))),
      any: t.Optional(t.Unknown()),
    },
    { additionalProperties: true },
  ),
)

test('a repeated body is the same object, which nobody can change; a refused one is checked again', async () => {
  const shape = keepingRecent(
    validatorOf(
      t.Object({ count: t.Number(), of: t.Optional(t.Object({ ids: t.Array(t.Number()) })) }),
    ),
  )
  const read = (body: string) =>
    readBody(limitBodies(LIMITS), new Request('http://a/', { method: 'POST', body }), shape)
  const body = '{"count":"3","of":{"ids":[1]}}'
  const first = await read(body)
  expect(first).toEqual({ count: 3, of: { ids: [1] } })
  expect(await read(body)).toBe(first)
  expect(() => first.of?.ids.push(2)).toThrow()
  expect(await read('{"count":3,"of":{"ids":[1]}}')).not.toBe(first)
  expect(await refusalOf(read('{"count":"x"}'))).toStartWith('invalid_input count')
  expect(await refusalOf(read('{"count":"x"}'))).toStartWith('invalid_input count')
})

describe('members sent as texts', () => {
  const read = (body: string) =>
    readBody(limitBodies(LIMITS), new Request('http://a/', { method: 'POST', body }), FORM_SHAPE)

  test.each([
    ['{"pinned":"true","count":"3","level":"21"}', { pinned: true, count: 3, level: 21 }],
    ['{"pinned":"False","count":"-1.5e3"}', { pinned: false, count: -1500 }],
    ['{"pinned":"1","count":null}', { pinned: true, count: null }],
    ['{"name":"","pinned":"off"}', { name: '', pinned: false }],
    // Where texts are taken, a text stays one.
    ['{"name":"true","any":"3","tags":["1"]}', { name: 'true', any: '3', tags: ['1'] }],
  ])('%s is read by its schema', async (body, expected) => {
    expect<object>(await read(body)).toEqual(expected)
  })

  test.each(['{"pinned":"maybe"}', '{"level":"22"}', '{"ids":["1"]}', '{"count":"1 2"}'])(
    '%s is refused',
    async (body) => {
      expect(await refusalOf(read(body))).toStartWith('invalid_input')
    },
  )
})

describe('forms', () => {
  const send = (body: FormData | URLSearchParams | string, type?: string) =>
    readBody(
      limitBodies(LIMITS),
      new Request('http://a/', {
        method: 'POST',
        body,
        ...(type === undefined ? {} : { headers: { 'Content-Type': type } }),
      }),
      FORM_SHAPE,
    )
  const FIELDS: [string, string][] = [
    ['name', 'größe & more'],
    ['pinned', 'True'],
    ['count', '3'],
    ['tags', 'a'],
    ['tags', 'b'],
    ['ids', '[1,2]'],
    ['filters', '{"date_from":"-7d"}'],
    ['any', '{"a":1}'],
    ['other', 'x'],
    ['__proto__', 'x'],
  ]
  const expected = {
    name: 'größe & more',
    pinned: true,
    count: 3,
    tags: ['a', 'b'],
    ids: [1, 2],
    filters: { date_from: '-7d' },
    any: { a: 1 },
    other: 'x',
  }

  test('are read by the schema, url-encoded and multipart alike', async () => {
    const form = new FormData()
    for (const [name, value] of FIELDS) form.append(name, value)
    form.set('file', new Blob(['ignored']), 'a.txt')
    expect(await send(form)).toMatchObject(expected)
    expect(await send(new URLSearchParams(FIELDS))).toMatchObject(expected)
    expect(Object.keys(Object.prototype)).toEqual([])
  })

  test('name nothing by an empty text where nothing is allowed', async () => {
    expect(await send(new URLSearchParams({ name: '', filters: '', count: '' }))).toEqual({
      name: null,
      filters: null,
      count: null,
    })
  })

  const MULTIPART = 'multipart/form-data; boundary=x'
  test.each([
    ['{"name":"a"}', 'application/x-www-form-urlencoded', 'unsupported_media_type'],
    ['&'.repeat(300), 'application/x-www-form-urlencoded', 'invalid_input'],
    ['--x\r\n\r\n'.repeat(300), MULTIPART, 'invalid_input'],
    ['nothing', MULTIPART, 'parse_error'],
    ['--x\r\nContent-Disposition: form-data', MULTIPART, 'parse_error'],
    ['filters=%7B', 'application/x-www-form-urlencoded', 'invalid_input'],
    [`name=${'a'.repeat(3 * MIB)}`, 'application/x-www-form-urlencoded', 'request_too_large'],
  ])('that are none are refused (%#)', async (body, type, code) => {
    expect(await refusalOf(send(body, type))).toStartWith(code)
  })
})
