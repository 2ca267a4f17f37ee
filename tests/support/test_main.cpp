// The main function of the test programs: GoogleTest's own, and a program that ends by a fault says in which
// test that was, and where.
#include <execinfo.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

std::array<char, 512> place{"before the first test"};

void say(const char* text) {
  [[maybe_unused]] const ssize_t n = ::write(STDERR_FILENO, text, std::strlen(text));
}

// Who is the first to tell; others may fail at the same time.
std::atomic<pid_t> teller{0};

// What is called of this is as safe as it gets in a program that is lost anyway. `addr2line -fCe PROGRAM
// ADDRESS` names the functions that have no name here. The program then ends as it would have: what failed
// fails again.
void tell_of_fault(int signal) {
  const pid_t self = ::gettid();
  pid_t other = 0;
  if (teller.compare_exchange_strong(other, self)) {
    say("\n*** ");
    say(::sigdescr_np(signal));
    say(", ");
    say(place.data());
    say("; called from:\n");
    std::array<void*, 64> addresses;
    const int n = ::backtrace(addresses.data(), static_cast<int>(addresses.size()));
    ::backtrace_symbols_fd(addresses.data(), n, STDERR_FILENO);
  } else if (other != self) {
    ::sleep(10);
  }
  ::signal(signal, SIG_DFL);
}

void watch_for_faults() {
  static std::array<char, size_t{64} << 10> stack;  // the fault may be that the other one is full
  const stack_t its_stack{.ss_sp = stack.data(), .ss_flags = 0, .ss_size = stack.size()};
  ::sigaltstack(&its_stack, nullptr);
  void* first = nullptr;
  ::backtrace(&first, 1);  // loads what it needs
  for (const int signal : {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT}) {
    struct sigaction action {};
    action.sa_handler = tell_of_fault;
    action.sa_flags = SA_ONSTACK | SA_NODEFER;
    ::sigaction(signal, &action, nullptr);
  }
}

class Places : public testing::EmptyTestEventListener {
  // Where only failures are shown: how far the tests are.
  void OnTestSuiteStart(const testing::TestSuite& suite) override {
    if (GTEST_FLAG_GET(brief)) std::printf("%s\n", suite.name());
    std::fflush(stdout);
  }
  void OnTestStart(const testing::TestInfo& test) override {
    std::snprintf(place.data(), place.size(), "in %s.%s", test.test_suite_name(), test.name());
  }
  void OnTestEnd(const testing::TestInfo& test) override {
    std::snprintf(place.data(), place.size(), "behind %s.%s", test.test_suite_name(), test.name());
  }
};

}  // namespace

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  testing::UnitTest::GetInstance()->listeners().Append(new Places);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // which tell of faults themselves
  watch_for_faults();
#endif
  return RUN_ALL_TESTS();
}
