//===- Diagnostics.cpp ----------------------------------------------------===//

#include "compiler/Diagnostics.h"

#include "dialects/Onnx/Onnx.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;

namespace lumen {

/// Names in a hostile file may hold anything; a terminal gets one clean line.
static std::string oneLine(StringRef text) {
  constexpr size_t kMaxLength = 2000;
  std::string line;
  for (char c : text) {
    if (line.size() >= kMaxLength)
      return line + "...";
    auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7f)
      line += ("\\x" + llvm::utohexstr(byte, /*LowerCase=*/true, /*Width=*/2));
    else
      line += c;
  }
  return line;
}

void Diagnostics::report(Severity severity, const Twine &text) {
  std::lock_guard<std::mutex> lock(mutex);
  Message message{severity, oneLine(text.str())};
  // A kernel that cannot be built fails once per level, with the same words.
  if (llvm::any_of(kept, [&](const Message &other) {
        return other.severity == severity && other.text == message.text;
      }))
    return;
  if (severity == Severity::Error && ++errorCount > limit)
    return;
  if (kept.size() < 4 * limit)
    kept.push_back(std::move(message));
}

size_t Diagnostics::errors() const {
  std::lock_guard<std::mutex> lock(mutex);
  return errorCount;
}

std::vector<Diagnostics::Message> Diagnostics::messages() const {
  std::lock_guard<std::mutex> lock(mutex);
  return kept;
}

void Diagnostics::print(raw_ostream &os) const {
  std::lock_guard<std::mutex> lock(mutex);
  for (const Message &message : kept) {
    os << file << ": ";
    if (message.severity == Severity::Warning)
      os << "warning: ";
    else if (message.severity == Severity::Note)
      os << "note: ";
    os << message.text << "\n";
  }
  if (errorCount > limit)
    os << file << ": " << errorCount - limit << " more errors\n";
}

static void collectNames(Location loc, llvm::SetVector<StringRef> &names) {
  if (auto named = dyn_cast<NameLoc>(loc)) {
    names.insert(named.getName().getValue());
  } else if (auto fused = dyn_cast<FusedLoc>(loc)) {
    for (Location part : fused.getLocations())
      collectNames(part, names);
  } else if (auto call = dyn_cast<CallSiteLoc>(loc)) {
    collectNames(call.getCallee(), names);
    collectNames(call.getCaller(), names);
  }
}

std::string describe(Location loc) {
  llvm::SetVector<StringRef> names;
  collectNames(loc, names);
  if (!names.empty())
    return llvm::join(names, ", ");
  // A dump under lumen-opt has places instead of nodes.
  std::string text;
  if (auto place = dyn_cast<FileLineColLoc>(loc))
    llvm::raw_string_ostream(text)
        << place.getFilename().getValue() << ":" << place.getLine() << ":" << place.getColumn();
  return text;
}

/// The words of a diagnostic, in which types are spelled as users know them.
static std::string textOf(const Diagnostic &diagnostic) {
  std::string text;
  llvm::raw_string_ostream os(text);
  for (const DiagnosticArgument &argument : diagnostic.getArguments())
    if (argument.getKind() == DiagnosticArgument::DiagnosticArgumentKind::Type)
      os << "'" << onnx::typeText(argument.getAsType()) << "'";
    else
      argument.print(os);
  return text;
}

DiagnosticCapture::DiagnosticCapture(MLIRContext *context, Diagnostics &diagnostics)
    : ScopedDiagnosticHandler(context) {
  setHandler([&diagnostics](Diagnostic &diagnostic) {
    auto report = [&](const Diagnostic &said) {
      std::string where = describe(said.getLocation());
      auto severity = Diagnostics::Severity::Note;
      if (said.getSeverity() == DiagnosticSeverity::Error)
        severity = Diagnostics::Severity::Error;
      else if (said.getSeverity() == DiagnosticSeverity::Warning)
        severity = Diagnostics::Severity::Warning;
      diagnostics.report(severity, where.empty() ? textOf(said) : where + ": " + textOf(said));
    };
    report(diagnostic);
    for (const Diagnostic &note : diagnostic.getNotes())
      report(note);
    return success();
  });
}

} // namespace lumen
