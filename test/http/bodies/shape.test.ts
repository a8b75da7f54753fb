/** What is said of JSON of another shape: the field at fault, and what would be right. */
import { describe, expect, test } from 'bun:test'
import { t } from 'elysia'
import { Refusal } from '../../../src/errors.ts'
import { validatorOf } from '../../../src/http/bodies/shape.ts'

const Cat = t.Object({ kind: t.Literal('Cat'), lives: t.Number({ minimum: 1, maximum: 9 }) })
const Dog = t.Object({ kind: t.Literal('Dog'), name: t.String({ maxLength: 5 }) })
const PETS = validatorOf(
  t.Object({ pets: t.Array(t.Union([Cat, Dog]), { minItems: 1, maxItems: 2 }) }),
)

function refusalOf(value: unknown): { detail: string; attr: string | null } {
  try {
    PETS.require(value)
  } catch (thrown) {
    if (thrown instanceof Refusal) return { detail: thrown.message, attr: thrown.attr }
    throw thrown
  }
  throw new Error('it was taken')
}

const cat = { kind: 'Cat', lives: 9 } as const

describe('a value of another shape', () => {
  test('is taken when it is right', () => {
    expect(PETS.require({ pets: [cat] })).toEqual({ pets: [cat] })
  })

  test.each([
    [{}, 'pets', 'This field is required.'],
    [{ pets: cat }, 'pets', 'Expected a list of items.'],
    [{ pets: [] }, 'pets', 'Ensure this field has at least 1 element.'],
    [{ pets: [cat, cat, cat] }, 'pets', 'Ensure this field has no more than 2 elements.'],
    [{ pets: [{ kind: 'Cat' }] }, 'pets__0__lives', 'This field is required.'],
    [{ pets: [{ kind: 'Cat', lives: '9' }] }, 'pets__0__lives', 'A valid number is required.'],
    [
      { pets: [{ kind: 'Cat', lives: 10 }] },
      'pets__0__lives',
      'Ensure this value is less than or equal to 9.',
    ],
    [
      { pets: [{ kind: 'Cat', lives: 0 }] },
      'pets__0__lives',
      'Ensure this value is greater than or equal to 1.',
    ],
    [
      { pets: [{ kind: 'Dog', name: 'Lassie' }] },
      'pets__0__name',
      'Ensure this field has no more than 5 characters.',
    ],
    [
      { pets: [{ kind: 'Cow' }] },
      'pets__0__kind',
      '"Cow" is not a valid choice. Choose one of: Cat, Dog.',
    ],
    [{ pets: [{}] }, 'pets__0__kind', 'This field is required.'],
  ])('%j is told', (value, attr, detail) => {
    expect(refusalOf(value)).toEqual({ attr, detail })
  })
})
