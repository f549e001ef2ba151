/* check() is 0 if all is right, else the line of what is wrong. */
#define EXPECT(condition)                                                                          \
  if (!(condition))                                                                                \
  return __LINE__

/* Not known to the compiler, so that nothing is folded. */
static volatile float single = 1.00048828125f; /* between two halves: a tie */
static volatile double large = 65519.99;
static volatile __int128 dividend = -((__int128)1 << 100), divisor = 1000000007;
static volatile int power = -3;

int check(void) {
  _Float16 half = (_Float16)single;
  EXPECT((float)half == 1.0f);
  EXPECT((float)(_Float16)large == 65504.0f);
  EXPECT((float)(__bf16)single == 1.0f);
  __int128 quotient = dividend / divisor, rest = dividend % divisor;
  EXPECT(quotient * divisor + rest == dividend && rest <= 0);
  EXPECT((unsigned __int128)dividend / (unsigned __int128)divisor > 0);
  EXPECT(__builtin_powi(2.0, power) == 0.125);
  EXPECT(__builtin_powif(2.0f, power) == 0.125f);
  return 0;
}
